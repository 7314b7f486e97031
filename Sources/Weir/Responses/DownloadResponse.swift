/// What came of a download request, for one handler.
public struct DownloadResponse<Success: Sendable, Failure: Error>: Sendable {
  /// The last URL request.
  public let request: URLRequest?
  package let lazyResponse: LazyHTTPResponse?
  /// Where the body is, nil unless it was moved there.
  public let fileURL: URL?
  /// What `download(resumingWith:)` needs to go on, if the server allows that.
  public let resumeData: Data?
  /// The last attempt's metrics.
  public let metrics: TransferMetrics?
  /// Seconds the serializer took, on a monotonic clock.
  public let serializationDuration: TimeInterval
  /// The value or the error.
  public let result: Result<Success, Failure>
  /// When the request started, was answered and was done.
  public let timeline: Timeline
}

// The initializer stands apart from the struct, so that Swift makes another one of all properties for weir's own use.
extension DownloadResponse {
  /// Takes a response apart from any request, for tests and for serializers of one's own.
  public init(
    request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, resumeData: Data?, metrics: TransferMetrics?,
    serializationDuration: TimeInterval, result: Result<Success, Failure>, timeline: Timeline = Timeline()
  ) {
    self.init(
      request: request, lazyResponse: response.map(LazyHTTPResponse.init), fileURL: fileURL, resumeData: resumeData,
      metrics: metrics, serializationDuration: serializationDuration, result: result, timeline: timeline)
  }

  /// The last response head; built when first read.
  public var response: HTTPURLResponse? { lazyResponse?.response }

  /// The value, nil after a failure.
  public var value: Success? { result.success }

  /// The error, nil after a success.
  public var error: Failure? { result.failure }

  /// The same response with its value transformed.
  @preconcurrency
  public func map<New: Sendable>(_ transform: (Success) -> New) -> DownloadResponse<New, Failure> {
    with(result.map(transform))
  }

  /// The same response with its value transformed; what the closure throws becomes the failure.
  @preconcurrency
  public func tryMap<New: Sendable>(_ transform: (Success) throws -> New) -> DownloadResponse<New, any Error> {
    with(result.tryMap(transform))
  }

  /// The same response with its error transformed.
  public func mapError<New: Error>(_ transform: (Failure) -> New) -> DownloadResponse<Success, New> {
    with(result.mapError(transform))
  }

  /// The same response with its error transformed; what the closure throws becomes the failure.
  public func tryMapError<New: Error>(_ transform: (Failure) throws -> New) -> DownloadResponse<Success, any Error> {
    with(result.tryMapError(transform))
  }

  private func with<S: Sendable, F: Error>(_ result: Result<S, F>) -> DownloadResponse<S, F> {
    DownloadResponse<S, F>(
      request: request, lazyResponse: lazyResponse, fileURL: fileURL, resumeData: resumeData, metrics: metrics,
      serializationDuration: serializationDuration, result: result, timeline: timeline)
  }
}
