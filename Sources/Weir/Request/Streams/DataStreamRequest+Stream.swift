import WeirIO

extension DataStreamRequest {
  /// One event of a stream, with the means to end it.
  public struct Stream<Success: Sendable, Failure: Error>: Sendable {
    /// What has happened.
    public let event: Event<Success, Failure>
    /// Cancels the request; may be kept.
    public let token: CancellationToken

    /// Cancels the request.
    public func cancel() { token.cancel() }

    /// What was made of a chunk; nil at completion.
    public var result: Result<Success, Failure>? {
      if case .stream(let result) = event { result } else { nil }
    }

    /// The value of a chunk; nil for a failure and at completion.
    public var value: Success? {
      if case .success(let value)? = result { value } else { nil }
    }

    /// Why a chunk could not be serialized; nil for a value and at completion.
    public var error: Failure? {
      if case .failure(let error)? = result { error } else { nil }
    }

    /// How the request ended; nil before.
    public var completion: Completion? {
      if case .complete(let completion) = event { completion } else { nil }
    }
  }

  /// What happens to a stream.
  public enum Event<Success: Sendable, Failure: Error>: Sendable {
    /// A chunk has come, with its value, or why there is none.
    case stream(Result<Success, Failure>)
    /// The request has ended: once, last.
    case complete(Completion)
  }

  /// How a stream's request ended.
  public struct Completion: Sendable {
    /// The URL request of the last attempt.
    public let request: URLRequest?
    private let lazyResponse: LazyHTTPResponse?
    /// Of the last attempt.
    public let metrics: TransferMetrics?
    /// When the stages of the last attempt began.
    public let timeline: Timeline
    /// Nil after a success.
    public let error: WeirError?

    /// The head of the last attempt's response.
    public var response: HTTPURLResponse? { lazyResponse?.response }

    init(_ input: SerializationInput) {
      request = input.urlRequest
      lazyResponse = input.response
      metrics = input.metrics
      timeline = input.timeline(serializationCompleted: .now)
      error = input.failure
    }
  }

  /// Cancels a request without holding it.
  public struct CancellationToken: Sendable {
    private weak var request: DataStreamRequest?

    init(_ request: DataStreamRequest) {
      self.request = request
    }

    /// Cancels the request, if there still is one.
    public func cancel() { request?.cancel() }
  }
}
