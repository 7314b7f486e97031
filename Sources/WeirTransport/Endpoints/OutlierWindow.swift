import WeirIO

/// The attempts of the last seconds, in ten slices. Slices of windows of one length begin at the same times, so that
/// windows can be added.
struct OutlierWindow: Sendable {
  struct Counts: Sendable, Hashable {
    var ended = 0
    var failed = 0

    /// Failed ÷ ended; 0 without any.
    var ratio: Double { ended > 0 ? Double(failed) / Double(ended) : 0 }

    mutating func add(_ other: Counts, times sign: Int) {
      ended += sign * other.ended
      failed += sign * other.failed
    }
  }

  private static let count = 10

  /// Of all slices.
  let seconds: Double
  private var slices = [Counts](repeating: Counts(), count: count)
  /// Nanoseconds of a slice.
  private let length: Int64
  /// The number of the present slice: its time ÷ the length.
  private(set) var latest: Int64
  private(set) var sum = Counts()

  init(seconds: Double, at now: MonotonicTime) {
    self.seconds = seconds
    length = Int64(seconds * 1e9) / Int64(Self.count)
    latest = now.nanoseconds / length
  }

  mutating func note(failed: Bool, at now: MonotonicTime) {
    move(at: now)
    let counts = Counts(ended: 1, failed: failed ? 1 : 0)
    slices[place(latest)].add(counts, times: 1)
    sum.add(counts, times: 1)
  }

  /// Adds or takes away another window of the same length.
  mutating func add(_ other: OutlierWindow, times sign: Int) {
    var other = other
    move(to: other.latest)
    other.move(to: latest)
    for index in slices.indices { slices[index].add(other.slices[index], times: sign) }
    sum.add(other.sum, times: sign)
  }

  /// Lets slices pass. An earlier time counts as the present: threads read the clock before they get a lock.
  mutating func move(at now: MonotonicTime) { move(to: now.nanoseconds / length) }

  mutating func move(to number: Int64) {
    guard number > latest else { return }
    for passed in max(latest + 1, number - Int64(Self.count) + 1)...number {
      sum.add(slices[place(passed)], times: -1)
      slices[place(passed)] = Counts()
    }
    latest = number
  }

  private func place(_ number: Int64) -> Int { Int(number % Int64(Self.count)) }
}
