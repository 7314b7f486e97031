import Glibc
import WeirHTTP

/// Writes times in UTC. It keeps the text of the last second, since most lines are of the same one.
struct AccessTime {
  private var second = Int64.min
  private var date = tm()
  private static let months: [StaticString] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Appends `2026-03-01T12:00:00.250Z` (RFC 3339).
  mutating func append(milliseconds: Int64, to line: inout [UInt8]) {
    let fraction = look(at: milliseconds)
    line.append(accessNumber: Int64(date.tm_year) + 1900, width: 4)
    for (separator, value) in [
      (UInt8(ascii: "-"), date.tm_mon + 1), (UInt8(ascii: "-"), date.tm_mday), (UInt8(ascii: "T"), date.tm_hour),
      (UInt8(ascii: ":"), date.tm_min), (UInt8(ascii: ":"), date.tm_sec),
    ] {
      line.append(separator)
      line.append(accessNumber: Int64(value), width: 2)
    }
    line.append(UInt8(ascii: "."))
    line.append(accessNumber: fraction, width: 3)
    line.append(UInt8(ascii: "Z"))
  }

  /// Appends `01/Mar/2026:12:00:00 +0000`, as Apache's logs have it.
  mutating func append(apache milliseconds: Int64, to line: inout [UInt8]) {
    _ = look(at: milliseconds)
    line.append(accessNumber: Int64(date.tm_mday), width: 2)
    line.append(.slash)
    line.append(accessText: Self.months[Int(date.tm_mon)])
    line.append(.slash)
    line.append(accessNumber: Int64(date.tm_year) + 1900, width: 4)
    for value in [date.tm_hour, date.tm_min, date.tm_sec] {
      line.append(.colon)
      line.append(accessNumber: Int64(value), width: 2)
    }
    line.append(accessText: " +0000")
  }

  /// Makes the date that of a time, and returns the time's milliseconds.
  private mutating func look(at milliseconds: Int64) -> Int64 {
    // A plain division would round towards 1970.
    let fraction = (milliseconds % 1000 + 1000) % 1000
    let second = (milliseconds - fraction) / 1000
    if second != self.second {
      var seconds = time_t(second)
      gmtime_r(&seconds, &date)
      self.second = second
    }
    return fraction
  }
}
