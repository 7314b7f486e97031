/// How a backoff is spread, so that clients that failed together do not come back together.
public enum Jitter: Sendable, Hashable {
  /// The exponential delay, unchanged.
  case none
  /// A random delay between 0 and the exponential delay.
  case full
  /// A random delay between the first delay and three times the previous delay.
  ///
  /// The policy keeps no state per request, so the previous delay is the exponential one, not the random one.
  case decorrelated
}
