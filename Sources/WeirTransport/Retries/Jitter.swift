/// How a backoff is spread, so that clients that failed together do not come back together.
public enum Jitter: Sendable, Hashable {
  /// The exponential delay as it is.
  case none
  /// Anywhere between nothing and the exponential delay.
  case full
  /// Anywhere between the first delay and three times the delay before.
  ///
  /// The policy keeps no state per request, so "the delay before" is the exponential one, not the one drawn.
  case decorrelated
}
