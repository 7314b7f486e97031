/// The response of a data or upload request, for one handler.
public struct DataResponse<Success: Sendable, Failure: Error>: Sendable {
  let contents: ResponseContents
  /// The seconds that the serializer took, on a monotonic clock.
  public let serializationDuration: TimeInterval
  /// The value or the error.
  public let result: Result<Success, Failure>
  /// The times at which the request started, was answered and was done.
  public let timeline: Timeline
}

// The initializer is not in the struct itself, so that Swift also makes one of all properties, for weir's own use.
extension DataResponse {
  /// Makes a response without a request, for tests and for your own serializers.
  public init(
    request: URLRequest?, response: HTTPURLResponse?, data: Data?, metrics: TransferMetrics?,
    serializationDuration: TimeInterval, result: Result<Success, Failure>, timeline: Timeline = Timeline()
  ) {
    self.init(
      contents: ResponseContents(request, response, data: data, metrics), serializationDuration: serializationDuration,
      result: result, timeline: timeline)
  }

  /// The last URL request.
  public var request: URLRequest? { contents.hop?.urlRequest }

  /// The body; nil if empty.
  public var data: Data? { contents.data }

  /// The last attempt's metrics.
  public var metrics: TransferMetrics? { contents.metrics }

  /// The last response head, built when it is first read.
  public var response: HTTPURLResponse? { contents.head?.response }

  /// The value; nil after a failure.
  public var value: Success? { result.success }

  /// The error; nil after a success.
  public var error: Failure? { result.failure }

  /// The same response with its value transformed.
  @preconcurrency
  public func map<New: Sendable>(_ transform: (Success) -> New) -> DataResponse<New, Failure> {
    with(result.map(transform))
  }

  /// The same response with its value transformed; an error that the closure throws becomes the failure.
  @preconcurrency
  public func tryMap<New: Sendable>(_ transform: (Success) throws -> New) -> DataResponse<New, any Error> {
    with(result.tryMap(transform))
  }

  /// The same response with its error transformed.
  public func mapError<New: Error>(_ transform: (Failure) -> New) -> DataResponse<Success, New> {
    with(result.mapError(transform))
  }

  /// The same response with its error transformed; an error that the closure throws becomes the failure.
  public func tryMapError<New: Error>(_ transform: (Failure) throws -> New) -> DataResponse<Success, any Error> {
    with(result.tryMapError(transform))
  }

  private func with<S: Sendable, F: Error>(_ result: Result<S, F>) -> DataResponse<S, F> {
    DataResponse<S, F>(
      contents: contents, serializationDuration: serializationDuration, result: result, timeline: timeline)
  }
}

extension Result {
  var success: Success? {
    if case .success(let value) = self { value } else { nil }
  }

  var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }

  func tryMap<New>(_ transform: (Success) throws -> New) -> Result<New, any Error> {
    Result<New, any Error> { try transform(try get()) }
  }

  func tryMapError<New: Error>(_ transform: (Failure) throws -> New) -> Result<Success, any Error> {
    flatMapError { error in Result<Success, any Error> { throw try transform(error) } }
  }
}

/// The last attempt's request, head, body and metrics. An object, as a generic response copies each of its own
/// properties by their types' metadata.
final class ResponseContents: Sendable {
  let hop: HopRequest?
  let head: LazyHTTPResponse?
  let data: Data?
  let metrics: TransferMetrics?

  init(hop: HopRequest?, head: LazyHTTPResponse?, data: Data?, metrics: TransferMetrics?) {
    self.hop = hop
    self.head = head
    self.data = data
    self.metrics = metrics
  }

  convenience init(
    _ request: URLRequest?, _ response: HTTPURLResponse?, data: Data? = nil, _ metrics: TransferMetrics?
  ) {
    self.init(
      hop: request.map { HopRequest($0) }, head: response.map(LazyHTTPResponse.init), data: data, metrics: metrics)
  }
}
