/// Asks retriers in order until one answers other than `.doNotRetry`.
///
/// A value: each step's continuation holds a copy that is one step further. It does not keep the session alive: a
/// retrier may take its time.
struct RetryChain: Sendable {
  let retriers: [any RequestRetrier]
  let request: Request
  private(set) weak var session: Session?
  let error: any Error
  let completion: @Sendable (RetryResult) -> Void
  private var position = 0

  init(
    retriers: [any RequestRetrier], request: Request, session: Session, error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    self.retriers = retriers
    self.request = request
    self.session = session
    self.error = error
    self.completion = completion
  }

  func run() {
    guard position < retriers.count, !request.isCancelled, let session else { return completion(.doNotRetry) }
    var next = self
    next.position += 1
    let answer = SingleCall<RetryResult> { [next] result in
      if case .doNotRetry = result {
        next.run()
      } else {
        next.completion(result)
      }
    }
    retriers[position].retry(request, for: session, dueTo: error) { answer($0) }
  }
}
