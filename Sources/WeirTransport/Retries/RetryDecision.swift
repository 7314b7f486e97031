import WeirIO

/// The decision on a failure, and its reason. It is made once, by the first rules that say yes or no, and then passed
/// on to events and metrics.
package enum RetryDecision: Hashable, Sendable {
  /// Retry after this many seconds. `wish` is the server's `Retry-After`, if it is longer than the wait that the server
  /// is granted. `credential` is the new credential for a request that was refused for lack of it.
  case retry(after: Double, source: RetryDelaySource, wish: Double? = nil, credential: RefreshedCredential? = nil)
  case deny(RetryDenial.Reason)

  /// The decision after two checks that no rule makes: whether the body can be sent again, and whether the deadline
  /// allows the retry. A server whose wish goes beyond the deadline has given its last answer, even if a retry after
  /// the granted wait would come in time.
  func permitted(canReplayBody: Bool, deadline: MonotonicTime, now: MonotonicTime) -> RetryDecision {
    guard case .retry(let delay, _, let wish, _) = self else { return self }
    if !canReplayBody { return .deny(.body) }
    return now.advanced(bySeconds: max(delay, wish ?? 0)) < deadline ? self : .deny(.deadline)
  }
}

/// A credential with which a request may be retried for free, once among all its refused attempts.
package struct RefreshedCredential: Hashable, Sendable {
  let interceptor: ObjectIdentifier
  let version: UInt64

  package init(interceptor: ObjectIdentifier, version: UInt64) {
    self.interceptor = interceptor
    self.version = version
  }
}
