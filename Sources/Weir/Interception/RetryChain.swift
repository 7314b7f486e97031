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
  private var position = 0
  /// The reason for a denial, if no retrier wants a retry: the first that is more specific than `.policy`.
  private var denial = RetryDenial.Reason.policy

  init(
    retriers: [any RequestRetrier], request: Request, session: Session, error: any Error,
    completion: @escaping Completion
  ) {
    self.retriers = retriers
    self.request = request
    self.session = session
    self.error = error
    self.completion = completion
  }

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
