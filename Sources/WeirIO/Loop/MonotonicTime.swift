import Glibc

/// A point on the system's monotonic clock, in nanoseconds. The clock never goes backwards and says nothing about the
/// date.
package struct MonotonicTime: Hashable, Comparable, Sendable {
  package var nanoseconds: Int64

  @inlinable
  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The present, read from `CLOCK_MONOTONIC`.
  package static var now: MonotonicTime {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  package static let distantFuture = MonotonicTime(nanoseconds: .max)

  @inlinable
  package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The time `seconds` later; saturates, so that an absurd interval means "never" instead of a trap.
  package func advanced(bySeconds seconds: Double) -> MonotonicTime {
    let delta = seconds * 1e9
    guard delta < 9e18 else { return .distantFuture }
    guard delta > 0 else { return self }
    let (sum, overflow) = nanoseconds.addingReportingOverflow(Int64(delta))
    return overflow ? .distantFuture : MonotonicTime(nanoseconds: sum)
  }

  /// Seconds from `earlier` to this time; negative when this is the earlier of the two.
  @inlinable
  package func seconds(since earlier: MonotonicTime) -> Double {
    Double(nanoseconds &- earlier.nanoseconds) * 1e-9
  }
}
