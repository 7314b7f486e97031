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

  /// Puts a time: `2026-03-01T12:00:00.250Z` (RFC 3339), or `01/Mar/2026:12:00:00 +0000`, as Apache's logs have it.
  mutating func put(milliseconds: Int64, into line: inout AccessLine) {
    // A plain division would round towards 1970.
    let fraction = (milliseconds % 1000 + 1000) % 1000
    let second = (milliseconds - fraction) / 1000
    if second != self.second { look(at: second) }
    line.put(text)
    guard format == .json else { return }
    line.put(number: fraction, digits: 3)
    line.put(UInt8(ascii: "Z"))
  }

  /// Makes the text that of a second.
  private mutating func look(at second: Int64) {
    var (seconds, date) = (time_t(second), tm())
    gmtime_r(&seconds, &date)
    self.second = second
    text = []
    AccessLine.append(to: &text, room: 32) { line in
      let year = Int64(date.tm_year) + 1900
      switch format {
      case .json:
        line.put(number: year, digits: 4)
        Self.put("-", date.tm_mon + 1, into: &line)
        Self.put("-", date.tm_mday, into: &line)
        Self.put("T", date.tm_hour, into: &line)
      case .combined:
        line.put(number: Int64(date.tm_mday), digits: 2)
        line.put(.slash)
        line.put(Self.months[Int(date.tm_mon)])
        line.put(.slash)
        line.put(number: year, digits: 4)
        Self.put(":", date.tm_hour, into: &line)
      }
      Self.put(":", date.tm_min, into: &line)
      Self.put(":", date.tm_sec, into: &line)
      line.put(format == .json ? "." : " +0000")
    }
  }

  private static func put(_ separator: StaticString, _ value: CInt, into line: inout AccessLine) {
    line.put(separator)
    line.put(number: Int64(value), digits: 2)
  }
}
