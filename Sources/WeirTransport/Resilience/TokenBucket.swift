package import WeirIO

/// A token bucket by the generic cell rate algorithm (GCRA, ITU-T I.371), for one key of a rate limit, or for the pace of a
/// destination. A value.
///
/// Its whole state is the time at which it will be full again. Times are whole numbers of parts of a nanosecond, so that
/// a token takes a whole number of them: nothing is rounded, and in any time the bucket gives at most its burst and what
/// the rate allows meanwhile.
package struct TokenBucket: Equatable, Sendable {
  /// What holds for all buckets of a limit.
  package struct Terms: Equatable, Sendable {
    /// The periods of a rate, in seconds.
    private static let periods = 1...3600
    package static let mostPerSecond = 1_000_000
    package static let bursts = 1...1_000_000

    /// The parts of a nanosecond: a thousand times as many as the rate allows tokens in its period.
    let parts: Int64
    /// The parts that one token takes: a thousand times the nanoseconds of the period.
    let cost: Int64
    /// The parts that all tokens take.
    let depth: Int128

    /// Takes a number of tokens in a period of seconds, and how many the bucket holds. Numbers out of range count as the
    /// nearest valid ones.
    ///
    /// - Parameter stretch: How many thousandths of its time a token takes; 1000 for what the rate says.
    package init(_ count: Int, per period: Int, burst: Int, stretch: Int64 = 1000) {
      let period = min(max(period, Self.periods.lowerBound), Self.periods.upperBound)
      parts = Int64(min(max(count, 1), period * Self.mostPerSecond)) * 1000
      cost = Int64(period) * 1_000_000_000 * stretch
      depth = Int128(cost) * Int128(min(max(burst, Self.bursts.lowerBound), Self.bursts.upperBound))
    }

    func present(_ now: MonotonicTime) -> Int128 { Int128(now.nanoseconds) * Int128(parts) }

    /// The whole seconds that a number of parts takes, rounded up; at least 1.
    func seconds(_ excess: Int128) -> Int {
      let second = Int128(parts) * 1_000_000_000
      return max(1, Int(clamping: (excess - 1) / second + 1))
    }
  }

  /// The time at which the bucket is full again, in parts.
  package private(set) var full: Int128 = 0

  package init() {}

  private init(full: Int128) {
    self.full = full
  }

  /// Takes a token. If there is none, returns the seconds after which there will be one.
  package mutating func take(by terms: Terms, at now: MonotonicTime) -> Int? {
    let present = terms.present(now)
    let next = max(full, present) + Int128(terms.cost)
    let excess = next - present - terms.depth
    if excess > 0 { return terms.seconds(excess) }
    full = next
    return nil
  }

  /// When there is a token for the one that comes after so many others; the present if there is one.
  func time(after ahead: Int, by terms: Terms, at now: MonotonicTime) -> MonotonicTime {
    let present = terms.present(now)
    let due = max(full, present) + Int128(terms.cost) * (Int128(ahead) + 1) - terms.depth
    return due > present ? MonotonicTime(nanoseconds: Int64(clamping: (due - 1) / Int128(terms.parts) + 1)) : now
  }

  /// Gives back the token that was taken last.
  package mutating func giveBack(by terms: Terms) { full -= Int128(terms.cost) }

  /// Whether there is nothing to remember.
  package func isFull(by terms: Terms, at now: MonotonicTime) -> Bool { full <= terms.present(now) }

  /// The bucket with other terms: it has given as many tokens as before, or as many as there are now if those are fewer.
  package func changed(from old: Terms, to new: Terms, at now: MonotonicTime) -> TokenBucket {
    let given = full - old.present(now)
    if given <= 0 { return TokenBucket() }
    // A part of a token that is not back yet counts in full.
    let debt = (given * Int128(new.cost) - 1) / Int128(old.cost) + 1
    return TokenBucket(full: new.present(now) + min(debt, new.depth))
  }
}
