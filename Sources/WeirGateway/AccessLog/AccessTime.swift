import Glibc
import WeirHTTP

/// Writes times in UTC. It keeps the text of the last second, since most lines are of the same one.
struct AccessTime {
  private let format: AccessLogSettings.Format
  private var second = Int64.min
  private var text: [UInt8] = []
  private static let months: [StaticString] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  init(_ format: AccessLogSettings.Format) {
    self.format = format
  }

  /// Appends a time: `2026-03-01T12:00:00.250Z` (RFC 3339), or `01/Mar/2026:12:00:00 +0000`, as Apache's logs have it.
  mutating func append(milliseconds: Int64, to line: inout [UInt8]) {
    // A plain division would round towards 1970.
    let fraction = (milliseconds % 1000 + 1000) % 1000
    let second = (milliseconds - fraction) / 1000
    if second != self.second { look(at: second) }
    line.append(contentsOf: text)
    guard format == .json else { return }
    line.append(accessNumber: fraction, width: 3)
    line.append(UInt8(ascii: "Z"))
  }

  /// Makes the text that of a second.
  private mutating func look(at second: Int64) {
    var (seconds, date) = (time_t(second), tm())
    gmtime_r(&seconds, &date)
    self.second = second
    text = []
    let year = Int64(date.tm_year) + 1900
    switch format {
    case .json:
      text.append(accessNumber: year, width: 4)
      append("-", date.tm_mon + 1)
      append("-", date.tm_mday)
      append("T", date.tm_hour)
    case .combined:
      text.append(accessNumber: Int64(date.tm_mday), width: 2)
      text.append(.slash)
      text.append(accessText: Self.months[Int(date.tm_mon)])
      text.append(.slash)
      text.append(accessNumber: year, width: 4)
      append(":", date.tm_hour)
    }
    append(":", date.tm_min)
    append(":", date.tm_sec)
    text.append(accessText: format == .json ? "." : " +0000")
  }

  private mutating func append(_ separator: StaticString, _ value: CInt) {
    text.append(accessText: separator)
    text.append(accessNumber: Int64(value), width: 2)
  }
}
