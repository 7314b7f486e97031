import Synchronization

extension RetryDecision {
  /// The decision in a retrier's answer. `noted` is the decision of the rules behind the retrier, if it has any. It
  /// counts only if the answer agrees with it.
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

  /// The answer that a retrier gives for this decision.
  var result: RetryResult {
    switch self {
    case .retry(let delay, _, _, _): .retryWithDelay(delay)
    case .deny: .doNotRetry
    }
  }
}

extension Request {
  /// Takes note of the decision behind the answer that a retrier is about to give.
  func note(_ decision: RetryDecision) {
    fields.withLock { $0.notedDecision = decision }
  }

  /// Returns the noted decision and clears it.
  func takeNotedDecision() -> RetryDecision? {
    fields.withLock { fields in
      defer { fields.notedDecision = nil }
      return fields.notedDecision
    }
  }
}
