import Glibc

/// Seconds since 1970, for `_created` and exemplars.
struct WallClock: Sendable {
  let now: @Sendable () -> Double

  static let system = WallClock {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec / 1_000_000) / 1_000
  }
}
