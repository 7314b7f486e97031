import WeirIO

/// A token bucket by the generic cell rate algorithm (GCRA, ITU-T I.371), for one key of a rate limit. A value.
///
/// Its whole state is the time at which it will be full again. Times are whole numbers of parts of a nanosecond, so that
/// a token takes a whole number of them: nothing is rounded, and in any time the bucket gives at most its burst and what
/// the rate allows meanwhile.
struct TokenBucket: Equatable {
  /// What holds for all buckets of a limit.
  struct Terms: Equatable, Sendable {
    /// The parts of a nanosecond: as many as the rate allows requests in its period.
    let parts: Int64
    /// The parts that one token takes: the nanoseconds of the period.
    let cost: Int64
    /// The parts that all tokens take.
    let depth: Int64

    init(_ limit: RateLimit) {
      let periods = 1...3600
      let period = Int64(min(max(limit.rate.period, periods.lowerBound), periods.upperBound))
      let most = period * Int64(RateLimit.mostPerSecond)
      parts = min(max(Int64(limit.rate.count), 1), most)
      cost = period * 1_000_000_000
      depth = cost * Int64(min(max(limit.burst, RateLimit.bursts.lowerBound), RateLimit.bursts.upperBound))
    }

    func present(_ now: MonotonicTime) -> Int128 { Int128(now.nanoseconds) * Int128(parts) }

    /// The whole seconds that a number of parts takes, rounded up; at least 1.
    func seconds(_ excess: Int128) -> Int {
      let second = Int128(parts) * 1_000_000_000
      return max(1, Int(clamping: (excess - 1) / second + 1))
    }
  }

  /// The time at which the bucket is full again, in parts.
  private(set) var full: Int128 = 0

  /// Takes a token. If there is none, returns the seconds after which there will be one.
  mutating func take(by terms: Terms, at now: MonotonicTime) -> Int? {
    let present = terms.present(now)
    let next = max(full, present) + Int128(terms.cost)
    let excess = next - present - Int128(terms.depth)
    if excess > 0 { return terms.seconds(excess) }
    full = next
    return nil
  }

  /// Gives back the token that was taken last.
  mutating func giveBack(by terms: Terms) { full -= Int128(terms.cost) }

  /// Whether there is nothing to remember.
  func isFull(by terms: Terms, at now: MonotonicTime) -> Bool { full <= terms.present(now) }

  /// The bucket with other terms: it has given as many tokens as before, or as many as there are now if those are fewer.
  func changed(from old: Terms, to new: Terms, at now: MonotonicTime) -> TokenBucket {
    let given = full - old.present(now)
    if given <= 0 { return TokenBucket() }
    // A part of a token that is not back yet counts in full.
    let debt = (given * Int128(new.cost) - 1) / Int128(old.cost) + 1
    return TokenBucket(full: new.present(now) + min(debt, Int128(new.depth)))
  }
}
