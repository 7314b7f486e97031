#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// A moment in UTC, to the millisecond, as RFC 3339 writes it.
package struct Timestamp: Sendable, Equatable {
  /// Milliseconds since 1970.
  package let milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  /// - Parameter seconds: Since 1970. A time that no calendar has becomes 1970.
  package init(seconds: Double) {
    // The last millisecond of the year 9999.
    let isSane = seconds >= 0 && seconds < 253_402_300_800
    milliseconds = isSane ? Int64(seconds * 1000) : 0
  }

  package static var now: Self {
    Self(milliseconds: nanoseconds / 1_000_000)
  }

  /// Nanoseconds since 1970, now.
  package static var nanoseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Seconds since 1970.
  package var seconds: Double { Double(milliseconds) / 1000 }

  /// `2026-03-01`
  package var day: String { String(text.prefix(10)) }

  /// `12:00:00`
  package var clock: String { String(text.dropFirst(11).prefix(8)) }

  private var text: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// `2026-03-01T12:00:00.250Z`
  package func append(to bytes: inout [UInt8]) {
    // A plain division would round towards 1970.
    let fraction = (milliseconds % 1000 + 1000) % 1000
    var seconds = time_t((milliseconds - fraction) / 1000)
    var date = tm()
    gmtime_r(&seconds, &date)
    func put(_ number: Int, digits: Int, before separator: Unicode.Scalar) {
      var divisor = 1
      for _ in 1..<digits { divisor *= 10 }
      while divisor > 0 {
        bytes.append(0x30 + UInt8(number / divisor % 10))
        divisor /= 10
      }
      bytes.append(UInt8(ascii: separator))
    }
    put(Int(date.tm_year) + 1900, digits: 4, before: "-")
    put(Int(date.tm_mon) + 1, digits: 2, before: "-")
    put(Int(date.tm_mday), digits: 2, before: "T")
    put(Int(date.tm_hour), digits: 2, before: ":")
    put(Int(date.tm_min), digits: 2, before: ":")
    put(Int(date.tm_sec), digits: 2, before: ".")
    put(Int(fraction), digits: 3, before: "Z")
  }
}
