internal import Glibc

/// A moment as the status pages write it, in UTC.
struct StatusTime {
  private let milliseconds: Int
  private var date = tm()

  /// - Parameter seconds: Since 1970. A time that no calendar has is shown as 1970.
  init(_ seconds: Double) {
    // The last millisecond of the year 9999.
    let isSane = seconds >= 0 && seconds < 253_402_300_800
    milliseconds = isSane ? Int(seconds * 1000) : 0
    var whole = time_t(milliseconds / 1000)
    gmtime_r(&whole, &date)
  }

  /// `2026-03-01T12:00:00.250Z` (RFC 3339).
  func append(to bytes: inout [UInt8]) {
    appendDay(to: &bytes)
    bytes.append(UInt8(ascii: "T"))
    appendClock(to: &bytes)
    bytes.append(UInt8(ascii: "."))
    append(milliseconds % 1000, digits: 3, to: &bytes)
    bytes.append(UInt8(ascii: "Z"))
  }

  /// `12:00:00`
  var clock: String { text(appendClock) }

  /// `2026-03-01`
  var day: String { text(appendDay) }

  private func text(_ append: (inout [UInt8]) -> Void) -> String {
    var bytes: [UInt8] = []
    append(&bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func appendDay(to bytes: inout [UInt8]) {
    append(Int(date.tm_year) + 1900, digits: 4, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    append(Int(date.tm_mon) + 1, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    append(Int(date.tm_mday), digits: 2, to: &bytes)
  }

  private func appendClock(to bytes: inout [UInt8]) {
    append(Int(date.tm_hour), digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    append(Int(date.tm_min), digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    append(Int(date.tm_sec), digits: 2, to: &bytes)
  }

  private func append(_ number: Int, digits: Int, to bytes: inout [UInt8]) {
    var divisor = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
      divisor /= 10
    }
  }
}
