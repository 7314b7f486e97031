import Synchronization

/// Asks retriers in order until one gives an answer other than `.doNotRetry`, or the request has ended.
///
/// A value: each step's continuation holds a copy that is one step further. It does not keep the session alive, since a
/// retrier may take a long time.
struct RetryChain: Sendable {
  /// Takes the answer and the decision behind it.
  typealias Completion = @Sendable (RetryResult, RetryDecision) -> Void

  let retriers: [any RequestRetrier]
  let request: Request
  private(set) weak var session: Session?
  let error: any Error
  let completion: Completion
  private(set) var position = 0
  /// The reason for a denial, if no retrier wants a retry: the first that is more specific than `.policy`.
  private(set) var denial = RetryDenial.Reason.policy

  func run() {
    guard position < retriers.count, !request.isOver, let session else {
      return completion(.doNotRetry, .deny(denial))
    }
    _ = request.takeNotedDecision()
    let answer = SingleCall<RetryResult> { [self] in answered($0) }
    retriers[position].retry(request, for: session, dueTo: error) { answer($0) }
  }

  private func answered(_ result: RetryResult) {
    let decision = RetryDecision(result, noted: request.takeNotedDecision())
    guard case .doNotRetry = result else { return completion(result, decision) }
    var next = self
    next.position += 1
    if denial == .policy, case .deny(let reason) = decision { next.denial = reason }
    next.run()
  }
}

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
