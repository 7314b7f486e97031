import Foundation
import Synchronization
import WeirIO

/// What is to become of a failure, and why. It is made once, by the rules of whoever says yes or no first, and carried
/// from there to events and metrics.
enum RetryDecision: Hashable, Sendable {
  /// After so many seconds. `wish` is for how many the server asked, where that is more than it is granted; `credential`
  /// the new one that the request was refused for lack of.
  case retry(
    after: TimeInterval, source: RetryDelaySource, wish: TimeInterval? = nil, credential: RefreshedCredential? = nil)
  case deny(RetryDenial.Reason)

  /// What a retrier's answer means. `noted` is what the rules behind it said, if there are any; it counts as far as the
  /// answer is theirs.
  init(_ result: RetryResult, noted: RetryDecision?) {
    switch (result, noted) {
    case (.doNotRetry, .deny(let reason)?): self = .deny(reason)
    case (.doNotRetry, _), (.doNotRetryWithError, _): self = .deny(.policy)
    case (.retryWithDelay(let delay), .retry(let own, let source, let wish, let credential)?) where own == delay:
      self = .retry(after: max(0, delay), source: source, wish: wish, credential: credential)
    case (.retryWithDelay(let delay), _): self = .retry(after: max(0, delay), source: .backoff)
    case (.retry, .retry(0, .backoff, nil, let credential)?):
      self = .retry(after: 0, source: .backoff, credential: credential)
    case (.retry, _): self = .retry(after: 0, source: .backoff)
    }
  }

  /// The answer to whoever asked a retrier.
  var result: RetryResult {
    switch self {
    case .retry(let delay, _, _, _): .retryWithDelay(delay)
    case .deny: .doNotRetry
    }
  }

  /// The same after what no retrier knows had its say: whether the body can be sent again, and how long the request may
  /// take. A server that wants to be left alone for longer than that has given its last answer, though a retry after the
  /// wait that it is granted would come in time.
  func permitted(canReplayBody: Bool, deadline: MonotonicTime, now: MonotonicTime) -> RetryDecision {
    guard case .retry(let delay, _, let wish, _) = self else { return self }
    if !canReplayBody { return .deny(.body) }
    return now.advanced(bySeconds: max(delay, wish ?? 0)) < deadline ? self : .deny(.deadline)
  }
}

extension Request {
  /// Takes note of the decision behind the answer that a retrier is about to give.
  func note(_ decision: RetryDecision) {
    fields.withLock { $0.notedDecision = decision }
  }

  /// What was noted since the last question.
  func takeNotedDecision() -> RetryDecision? {
    fields.withLock { fields in
      defer { fields.notedDecision = nil }
      return fields.notedDecision
    }
  }
}

extension RetryDenial.Reason {
  /// Whether it is the state of the destination and not of the request.
  var isDestinations: Bool { self == .budget || self == .breaker }
}
