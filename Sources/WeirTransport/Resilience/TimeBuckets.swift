import WeirIO

/// The counts of one bucket.
protocol BucketCounts: Sendable {
  init()
}

/// Counts of the last minute, in a ring of buckets of a quarter of a second. Memory is bounded, and a count costs one
/// addition. A value; the time is passed in.
struct TimeBuckets<Counts: BucketCounts>: Sendable {
  /// Nanoseconds.
  private static var width: Int64 { 250_000_000 }
  /// The number of buckets: a power of two that holds more than a minute.
  private static var count: Int { 256 }

  /// A bucket's number is its time in units of the width; its index is that number modulo the ring's size.
  private var buckets = [Counts](repeating: Counts(), count: count)
  private var latest: Int64
  /// When the present bucket ends.
  private var end: Int64

  init(at now: MonotonicTime) {
    latest = now.nanoseconds / Self.width
    end = (latest + 1) * Self.width
  }

  /// Changes the present bucket. An earlier time counts as the present: threads read the clock before they get a lock.
  mutating func count(at now: MonotonicTime, _ change: (inout Counts) -> Void) {
    move(to: now)
    change(&buckets[Self.place(latest)])
  }

  /// Visits the buckets that the window ending now touches. `isWhole` says whether a bucket lies in it entirely.
  ///
  /// - Parameter window: Seconds; up to a minute.
  func forEach(in window: Double, before now: MonotonicTime, _ visit: (Counts, _ isWhole: Bool) -> Void) {
    let begin = max(now.nanoseconds, latest * Self.width) - Int64(window * 1e9)
    var number = max(begin / Self.width, latest - Int64(Self.count) + 1)
    while number <= latest {
      visit(buckets[Self.place(number)], number * Self.width >= begin)
      number += 1
    }
  }

  private mutating func move(to now: MonotonicTime) {
    if now.nanoseconds < end { return }
    let number = now.nanoseconds / Self.width
    // Clears the whole ring after a minute without counts.
    for passed in max(latest + 1, number - Int64(Self.count) + 1)...number {
      buckets[Self.place(passed)] = Counts()
    }
    latest = number
    end = (number + 1) * Self.width
  }

  private static func place(_ number: Int64) -> Int { Int(truncatingIfNeeded: number) & (count - 1) }
}
