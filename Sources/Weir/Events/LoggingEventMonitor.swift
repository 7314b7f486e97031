public import Dispatch

/// Writes one line of text per event: the event's name, the first digits of the request's identifier, and details.
///
/// A line holds no header values, bodies, userinfo or query, so it may go to a log. Lines are made on ``queue``, not on
/// the event loop.
public final class LoggingEventMonitor: EventMonitor {
  public let queue: DispatchQueue
  private let sink: @Sendable (String) -> Void

  /// - Parameters:
  ///   - queue: The queue on which lines are made and passed on; nil means a private serial queue.
  ///   - sink: Gets each line, without a newline.
  @preconcurrency
  public init(queue: DispatchQueue? = nil, sink: @escaping @Sendable (String) -> Void) {
    self.queue = queue ?? DispatchQueue(label: "weir.loggingEventMonitor")
    self.sink = sink
  }

  private func log(_ event: String, _ details: String...) {
    write([event] + details)
  }

  private func log(_ event: String, _ request: Request, _ details: String...) {
    write([event, String(request.id.uuidString.prefix(8))] + details)
  }

  private func log(_ event: String, _ task: TransferTask, _ details: String...) {
    write([event, task.logText] + details)
  }

  /// Joins the lines of an error text: each event is one line.
  private func write(_ parts: [String]) {
    let line = parts.filter { !$0.isEmpty }.joined(separator: " ")
    sink(line.contains(where: \.isNewline) ? line.split(whereSeparator: \.isNewline).joined(separator: " ") : line)
  }

  // MARK: Session level

  public func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {
    log("session.didBecomeInvalid", error.logText)
  }

  public func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    log("session.didSendBodyData", task, "\(totalBytesSent) of \(totalBytesExpectedToSend) bytes")
  }

  public func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {
    log("session.willPerformHTTPRedirection", task, "status \(response.statusCode)", request.logText)
  }

  public func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge) {
    let space = challenge.protectionSpace
    let answer = challenge.proposedCredential == nil ? "no credential" : "failures \(challenge.previousFailureCount)"
    log("session.didReceiveChallenge", task, "\(space.host):\(space.port)", answer)
  }

  public func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {
    log("session.didFinishCollecting", task, metrics.logText)
  }

  public func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {
    log("session.didComplete", task, error.logText)
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {
    log("session.didReceiveResponse", dataTask, (response as? HTTPURLResponse).map { "status \($0.statusCode)" } ?? "")
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {
    log("session.didReceiveData", dataTask, "\(data.count) bytes")
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse) {
    log("session.willCacheResponse", dataTask, "\(response.data.count) bytes")
  }

  public func session(_ session: Session, connectionEvent event: ConnectionEvent) {
    log("session.connection", event.kind.rawValue, "\(event.destination)")
  }

  public func session(_ session: Session, loopLag lag: TimeInterval) {
    // Every timer has a lag. Only a noticeable one is worth a line.
    if lag >= 0.1 { log("session.loopLag", lag.logText) }
  }

  public func session(_ session: Session, retryBudget destination: Destination, available: Double) {
    // Likewise, only an empty budget is worth a line.
    if available < 1 { log("session.retryBudget", "used up", "\(destination)") }
  }

  public func session(_ session: Session, circuit destination: Destination, entered state: CircuitState) {
    log("session.circuit", state.rawValue, "\(destination)")
  }

  public func session(_ session: Session, overload destination: Destination, entered state: OverloadState) {
    log("session.overload", state.rawValue, "\(destination)")
  }

  public func session(_ session: Session, overload destination: Destination, report: OverloadReport) {
    // Reports come each second. Only those of a destination in trouble are worth a line.
    if report.state != .normal {
      log("session.overloadReport", "limit \(report.limit), used \(report.used)", "\(destination)")
    }
  }

  public func session(_ session: Session, endpointsOf origin: Destination, event: EndpointEvent) {
    log("session.endpoint", "\(event)", "\(origin)")
  }

  public func session(_ session: Session, refresh event: RefreshEvent) {
    switch event.kind {
    case .began: log("session.refresh", "began", event.interceptor)
    case .ended(let duration, let outcome):
      log("session.refresh", outcome.rawValue, event.interceptor, "after \(duration.logText)")
    // Each waiting request has such an event, and there may be very many.
    case .waiting: break
    }
  }

  // MARK: Requests

  public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
    log("request.didCreateInitialURLRequest", request, urlRequest.logText)
  }

  public func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {
    log("request.didFailToCreateURLRequest", request, error.logText)
  }

  public func request(
    _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
  ) {
    log("request.didAdaptInitialRequest", request, adaptedRequest.logText)
  }

  public func request(
    _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError
  ) {
    log("request.didFailToAdaptURLRequest", request, initialRequest.logText, error.logText)
  }

  public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
    log("request.didCreateURLRequest", request, urlRequest.logText)
  }

  public func request(_ request: Request, didCreateTask task: TransferTask) {
    log("request.didCreateTask", request, task.logText)
  }

  public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
    log("request.didGatherMetrics", request, metrics.logText)
  }

  public func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {
    log("request.didFailTaskEarly", request, task.logText, error.logText)
  }

  public func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {
    log("request.didCompleteTask", request, task.logText, error.logText)
  }

  public func request(_ request: Request, didResumeTask task: TransferTask) {
    log("request.didResumeTask", request, task.logText)
  }

  public func request(_ request: Request, didSuspendTask task: TransferTask) {
    log("request.didSuspendTask", request, task.logText)
  }

  public func request(_ request: Request, didCancelTask task: TransferTask) {
    log("request.didCancelTask", request, task.logText)
  }

  public func requestIsRetrying(_ request: Request) { log("request.isRetrying", request, "\(request.retryCount)") }
  public func requestDidFinish(_ request: Request) { log("request.didFinish", request) }
  public func requestDidResume(_ request: Request) { log("request.didResume", request) }
  public func requestDidSuspend(_ request: Request) { log("request.didSuspend", request) }
  public func requestDidCancel(_ request: Request) { log("request.didCancel", request) }

  public func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult
  ) {
    log("request.didValidate", request, "status \(response.statusCode)", result.logText)
  }

  public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {
    log("request.didParseResponse", request, response.result.logText)
  }

  public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {
    log("request.didParseResponse", request, response.result.logText)
  }

  public func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult
  ) {
    log("request.didValidate", request, "status \(response.statusCode)", result.logText)
  }

  public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>) {
    log("request.didParseStream", request, result.logText)
  }

  public func request(
    _ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?
  ) {
    log("request.didAdaptUsing", request, name, duration.logText, error.logText)
  }

  public func request(_ request: Request, didStartAttempt number: Int) {
    log("request.didStartAttempt", request, "\(number)")
  }

  public func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {
    log("request.didEndAttempt", request, "\(number)", metrics.logText, error.logText)
  }

  public func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {
    log("request.willRetry", request, "after \(delay.logText)", source.rawValue, reason.rawValue)
  }

  public func request(_ request: Request, didDenyRetry denial: RetryDenial) {
    log("request.didDenyRetry", request, denial.reason.rawValue)
  }

  public func request(_ request: Request, didReceiveInformationalResponse response: HTTPURLResponse) {
    log("request.didReceiveInformationalResponse", request, "status \(response.statusCode)")
  }

  public func request(_ request: Request, cache result: CacheResult) {
    log("request.cache", request, result.rawValue)
  }

  public func request(_ request: Request, hedge event: HedgeEvent) {
    log("request.hedge", request, event.rawValue)
  }

  public func request(_ request: Request, wasShed reason: ShedReason) {
    log("request.wasShed", request, reason.rawValue)
  }

  public func request(_ request: Request, abandonedIn phase: AbandonedPhase) {
    log("request.abandoned", request, phase.rawValue)
  }

  public func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    log("request.didSettle", request, outcome.rawValue)
  }

  // MARK: Uploads

  public func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask) {
    log("session.taskNeedsNewBodyStream", task)
  }

  public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
    log("request.didCreateUploadable", request, uploadable.logText)
  }

  public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError) {
    log("request.didFailToCreateUploadable", request, error.logText)
  }

  public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
    log("request.didProvideInputStream", request)
  }

  // MARK: Downloads

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
  ) {
    log("session.didResumeAtOffset", downloadTask, "\(fileOffset) of \(expectedTotalBytes) bytes")
  }

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64
  ) {
    log("session.didWriteData", downloadTask, "\(totalBytesWritten) of \(totalBytesExpectedToWrite) bytes")
  }

  public func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL) {
    log("session.didFinishDownloading", downloadTask, location.path)
  }

  public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
    log("request.didCreateDestinationURL", request, url.path)
  }

  public func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>
  ) {
    log("request.didFinishDownloading", request, task.logText, result.logText)
  }

  public func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult
  ) {
    log("request.didValidate", request, "status \(response.statusCode)", result.logText)
  }

  public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>) {
    log("request.didParseResponse", request, response.result.logText)
  }

  public func request<Value>(
    _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>
  ) {
    log("request.didParseResponse", request, response.result.logText)
  }
}

// MARK: - Texts

extension URLRequest {
  /// Method and URL without userinfo, query and fragment, each of which may hold a secret.
  fileprivate var logText: String {
    let address = url.flatMap { url -> String? in
      var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
      let hadQuery = parts?.percentEncodedQuery != nil
      parts?.user = nil
      parts?.password = nil
      parts?.percentEncodedQuery = nil
      parts?.fragment = nil
      return parts?.string.map { hadQuery ? $0 + "?…" : $0 }
    }
    return "\(httpMethod ?? "GET") \(address ?? "(no URL)")"
  }
}

extension UploadRequest.Uploadable {
  fileprivate var logText: String {
    switch self {
    case .data(let data): "\(data.count) bytes"
    case .file(let url, _): "file \(url.path)"
    case .stream: "stream"
    }
  }
}

extension TransferTask {
  fileprivate var logText: String { "task \(taskIdentifier)" }
}

extension TransferMetrics {
  fileprivate var logText: String {
    [
      statusCode.map { "status \($0)" } ?? "no response", total?.logText, "\(bytesSent) bytes sent",
      "\(bytesReceivedOnWire) received", redirectCount > 0 ? "\(redirectCount) redirects" : nil,
    ].compactMap { $0 }.joined(separator: ", ")
  }
}

extension TimeInterval {
  fileprivate var logText: String { "\((self * 1e6).rounded() / 1e3) ms" }
}

extension (any Error)? {
  fileprivate var logText: String {
    self.map { "error: \(Redaction.errorText($0.localizedDescription))" } ?? ""
  }
}

extension WeirError? {
  fileprivate var logText: String { self?.logText ?? "" }
}

extension WeirError {
  fileprivate var logText: String { "error: \(self)" }
}

extension Result where Failure: Error {
  fileprivate var logText: String {
    switch self {
    case .success: "success"
    case .failure(let error): (error as any Error as (any Error)?).logText
    }
  }
}
