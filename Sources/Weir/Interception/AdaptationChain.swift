/// Runs adapters in order, each on the result of the one before. It ends at the first error, or when the request has
/// ended.
///
/// A value: each step's continuation holds a copy that is one step further, so nothing is shared between the threads
/// on which adapters may answer.
struct AdaptationChain: Sendable {
  typealias Completion = @Sendable (Result<URLRequest, any Error>) -> Void

  let adapters: [any RequestAdapter]
  /// Nil if the adapters' caller gave no request.
  let request: Request?
  let completion: Completion
  let adapt: @Sendable (any RequestAdapter, URLRequest, @escaping Completion) -> Void
  private var position = 0

  init(
    adapters: [any RequestAdapter], request: Request? = nil, completion: @escaping Completion,
    adapt: @escaping @Sendable (any RequestAdapter, URLRequest, @escaping Completion) -> Void
  ) {
    self.adapters = adapters
    self.request = request
    self.completion = completion
    self.adapt = adapt
  }

  func run(_ urlRequest: URLRequest) {
    guard position < adapters.count else { return completion(.success(urlRequest)) }
    if request?.isOver == true { return completion(.failure(WeirError.explicitlyCancelled)) }
    var next = self
    next.position += 1
    let answer = SingleCall<Result<URLRequest, any Error>> { [next] result in
      switch result {
      case .success(let adapted): next.run(adapted)
      case .failure: next.completion(result)
      }
    }
    adapt(adapters[position], urlRequest) { answer($0) }
  }
}
