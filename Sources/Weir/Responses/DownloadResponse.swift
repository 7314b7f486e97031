/// The response of a download request, for one handler.
public struct DownloadResponse<Success: Sendable, Failure: Error>: Sendable {
  let contents: ResponseContents
  /// The URL of the downloaded file; nil unless the file was moved to its destination.
  public let fileURL: URL?
  /// The data with which `download(resumingWith:)` continues the download, if the server allows that.
  public let resumeData: Data?
  /// The seconds that the serializer took, on a monotonic clock.
  public let serializationDuration: TimeInterval
  /// The value or the error.
  public let result: Result<Success, Failure>
  /// The times at which the request started, was answered and was done.
  public let timeline: Timeline
}

// The initializer is not in the struct itself, so that Swift also makes one of all properties, for weir's own use.
extension DownloadResponse {
  /// Makes a response without a request, for tests and for your own serializers.
  public init(
    request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, resumeData: Data?, metrics: TransferMetrics?,
    serializationDuration: TimeInterval, result: Result<Success, Failure>, timeline: Timeline = Timeline()
  ) {
    self.init(
      contents: ResponseContents(request, response, metrics), fileURL: fileURL, resumeData: resumeData,
      serializationDuration: serializationDuration, result: result, timeline: timeline)
  }

  /// The last URL request.
  public var request: URLRequest? { contents.hop?.urlRequest }

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
  public func map<New: Sendable>(_ transform: (Success) -> New) -> DownloadResponse<New, Failure> {
    with(result.map(transform))
  }

  /// The same response with its value transformed; an error that the closure throws becomes the failure.
  @preconcurrency
  public func tryMap<New: Sendable>(_ transform: (Success) throws -> New) -> DownloadResponse<New, any Error> {
    with(result.tryMap(transform))
  }

  /// The same response with its error transformed.
  public func mapError<New: Error>(_ transform: (Failure) -> New) -> DownloadResponse<Success, New> {
    with(result.mapError(transform))
  }

  /// The same response with its error transformed; an error that the closure throws becomes the failure.
  public func tryMapError<New: Error>(_ transform: (Failure) throws -> New) -> DownloadResponse<Success, any Error> {
    with(result.tryMapError(transform))
  }

  private func with<S: Sendable, F: Error>(_ result: Result<S, F>) -> DownloadResponse<S, F> {
    DownloadResponse<S, F>(
      contents: contents, fileURL: fileURL, resumeData: resumeData, serializationDuration: serializationDuration,
      result: result, timeline: timeline)
  }
}
