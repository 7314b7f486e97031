package import WeirIO

/// What is to become of a failure, and why. It is made once, by the first rules that say yes or no, and carried from there
/// to events and metrics.
package enum RetryDecision: Hashable, Sendable {
  /// After so many seconds. `wish` is for how many the server asked, where that is more than it is granted; `credential`
  /// the new one that the request was refused for lack of.
  case retry(after: Double, source: RetryDelaySource, wish: Double? = nil, credential: RefreshedCredential? = nil)
  case deny(RetryDenial.Reason)

  /// The same after what no rule knows had its say: whether the body can be sent again, and how long the request may
  /// take. A server that wants to be left alone for longer than that has given its last answer, though a retry after the
  /// wait that it is granted would come in time.
  package func permitted(canReplayBody: Bool, deadline: MonotonicTime, now: MonotonicTime) -> RetryDecision {
    guard case .retry(let delay, _, let wish, _) = self else { return self }
    if !canReplayBody { return .deny(.body) }
    return now.advanced(bySeconds: max(delay, wish ?? 0)) < deadline ? self : .deny(.deadline)
  }
}

/// A credential that a request may be tried again with for free: once, by whichever of its refused attempts.
package struct RefreshedCredential: Hashable, Sendable {
  let interceptor: ObjectIdentifier
  let version: UInt64

  package init(interceptor: ObjectIdentifier, version: UInt64) {
    self.interceptor = interceptor
    self.version = version
  }
}
