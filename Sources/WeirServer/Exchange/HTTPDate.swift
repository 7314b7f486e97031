internal import Glibc
internal import WeirIO

/// The Date field (RFC 9110 §6.6.1), rendered once per second.
struct HTTPDate {
  private(set) var field: [UInt8] = []
  private var staleAt = MonotonicTime(nanoseconds: .min)

  /// Renders the field anew when `now` is in another second than the last call was.
  mutating func refresh(now: MonotonicTime) {
    guard now >= staleAt else { return }
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    field = Array("Date: \(Self.text(secondsSince1970: Int(time.tv_sec)))\r\n".utf8)
    staleAt = now.advanced(bySeconds: Double(1_000_000_000 - time.tv_nsec) * 1e-9)
  }

  /// IMF-fixdate (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func text(secondsSince1970 seconds: Int) -> String {
    var seconds = time_t(seconds)
    var date = tm()
    gmtime_r(&seconds, &date)
    let day = name(date.tm_wday, in: "SunMonTueWedThuFriSat")
    let month = name(date.tm_mon, in: "JanFebMarAprMayJunJulAugSepOctNovDec")
    let time = "\(two(date.tm_hour)):\(two(date.tm_min)):\(two(date.tm_sec))"
    return "\(day), \(two(date.tm_mday)) \(month) \(Int(date.tm_year) + 1900) \(time) GMT"
  }

  private static func name(_ index: CInt, in names: String) -> Substring {
    names.dropFirst(Int(index) * 3).prefix(3)
  }

  private static func two(_ number: CInt) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}
