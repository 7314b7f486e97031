/// The pace of the attempts at a destination: the rate that it is known to take, and the pauses that it asks for.
///
/// No attempt begins before its turn. A request waits for its turn as long as it may, and is rejected at once if that would
/// be too long. Retries and second attempts take turns as first attempts do.
public struct PaceSettings: Sendable, Hashable {
  /// Attempts per second, up to 1,000,000; nil: any number. A turn takes 1.5 % longer than the rate says, so that no
  /// second has more of them even where a busy machine is late.
  public var rate: Double?
  /// The number of attempts that may begin at once after a time with few of them; 1 to 1,000,000.
  public var burst: Int
  /// The answers after which no attempt begins for a while.
  public var obey: Set<PaceSignal>
  /// Seconds that a request waits at most for its turn or for the end of a pause; 0 to 60.
  public var wait: Double

  /// Takes the numbers. Numbers out of range count as the nearest valid ones; a rate that is not more than 0 counts as nil.
  public init(rate: Double? = nil, burst: Int = 1, obey: Set<PaceSignal> = [.retryAfter], wait: Double = 2) {
    self.rate = rate
    self.burst = burst
    self.obey = obey
    self.wait = wait
  }
}

/// The ways in which a server asks for a pause.
public enum PaceSignal: String, Sendable, CaseIterable {
  /// 429 or 503 with `Retry-After` (RFC 9110 section 10.2.3).
  case retryAfter
  /// `RateLimit` with nothing left (draft-ietf-httpapi-ratelimit-headers-10), or one of its older forms.
  case rateLimit
}

extension PaceSettings {
  /// For `wait`, in seconds.
  package static let waits = 0.0...60.0
  /// For `burst`.
  package static let bursts = TokenBucket.Terms.bursts
  /// No pause is longer, whatever the server asks for. Seconds.
  package static let longestPause = 60.0

  var boundedWait: Double { wait.clamped(to: Self.waits) }

  /// The terms of the rate; nil without one. A rate that is no whole number per second is taken per hour.
  var terms: TokenBucket.Terms? {
    guard let rate, rate > 0 else { return nil }
    let most = Double(TokenBucket.Terms.mostPerSecond)
    let bounded = min(rate, most)
    return bounded == bounded.rounded()
      ? TokenBucket.Terms(Int(bounded), per: 1, burst: burst, stretch: Self.stretch)
      : TokenBucket.Terms(Int((bounded * 3600).rounded()), per: 3600, burst: burst, stretch: Self.stretch)
  }

  /// A turn takes so many thousandths of the time that the rate says. The rest, 15 ms in a second, is for turns that come
  /// late (``lateness``) and for the network.
  static let stretch: Int64 = 1015
  /// The next turn comes as if the last had been in time, if that was no more than so many seconds late. Without that a rate
  /// of 500/s would lose a fifth to timers of a millisecond.
  static let lateness = 0.01
}
