import Glibc

/// A time in the form of log lines: UTC, to the millisecond (RFC 3339).
package struct LogTime: Sendable, Equatable {
  /// Milliseconds since 1970.
  package let milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  static var now: Self {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Self(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// `2026-03-01T12:00:00.250Z`
  func append(to line: inout [UInt8]) {
    // A plain division would round towards 1970.
    let fraction = (milliseconds % 1000 + 1000) % 1000
    var seconds = time_t((milliseconds - fraction) / 1000)
    var date = tm()
    gmtime_r(&seconds, &date)
    for (value, width, separator) in [
      (Int(date.tm_year) + 1900, 4, "-"), (Int(date.tm_mon) + 1, 2, "-"), (Int(date.tm_mday), 2, "T"),
      (Int(date.tm_hour), 2, ":"), (Int(date.tm_min), 2, ":"), (Int(date.tm_sec), 2, "."), (Int(fraction), 3, "Z"),
    ] {
      let digits = String(value)
      line.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: max(0, width - digits.utf8.count)))
      line.append(contentsOf: digits.utf8)
      line.append(contentsOf: separator.utf8)
    }
  }
}
