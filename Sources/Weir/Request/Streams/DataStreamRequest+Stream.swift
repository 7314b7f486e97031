import WeirIO

extension DataStreamRequest {
  /// One event of a stream, with a way to cancel the stream's request.
  public struct Stream<Success: Sendable, Failure: Error>: Sendable {
    /// The event.
    public let event: Event<Success, Failure>
    /// Cancels the request; may be kept.
    public let token: CancellationToken

    /// Cancels the request.
    public func cancel() { token.cancel() }

    /// The result of serializing a chunk; nil at completion.
    public var result: Result<Success, Failure>? {
      if case .stream(let result) = event { result } else { nil }
    }

    /// The value of a chunk; nil for a failure and at completion.
    public var value: Success? {
      if case .success(let value)? = result { value } else { nil }
    }

    /// The error of a chunk that could not be serialized; nil for a value and at completion.
    public var error: Failure? {
      if case .failure(let error)? = result { error } else { nil }
    }

    /// The completion of the request; nil for chunks.
    public var completion: Completion? {
      if case .complete(let completion) = event { completion } else { nil }
    }
  }

  /// An event of a stream.
  public enum Event<Success: Sendable, Failure: Error>: Sendable {
    /// A chunk has come: its value, or the error of its serializer.
    case stream(Result<Success, Failure>)
    /// The request has ended. Comes once, as the last event.
    case complete(Completion)
  }

  /// The end of a stream's request.
  public struct Completion: Sendable {
    /// The URL request of the last attempt.
    public let request: URLRequest?
    private let lazyResponse: LazyHTTPResponse?
    /// The metrics of the last attempt.
    public let metrics: TransferMetrics?
    /// The times at which the stages of the last attempt began.
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

  /// Cancels a request without retaining it.
  public struct CancellationToken: Sendable {
    private weak var request: DataStreamRequest?

    init(_ request: DataStreamRequest) {
      self.request = request
    }

    /// Cancels the request, if it still exists.
    public func cancel() { request?.cancel() }
  }
}
