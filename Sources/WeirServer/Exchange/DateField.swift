internal import Glibc
import WeirHTTP
internal import WeirIO

/// The Date field (RFC 9110 §6.6.1), rendered once per second.
struct DateField {
  private(set) var bytes: [UInt8] = []
  private var staleAt = MonotonicTime(nanoseconds: .min)

  /// Renders the field anew if `now` is in another second than the last call was.
  mutating func refresh(now: MonotonicTime) {
    guard now >= staleAt else { return }
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    bytes = Array("Date: \(HTTPDate.text(secondsSince1970: Int(time.tv_sec)))\r\n".utf8)
    staleAt = now.advanced(bySeconds: Double(1_000_000_000 - time.tv_nsec) * 1e-9)
  }
}
