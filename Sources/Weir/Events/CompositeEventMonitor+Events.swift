// Each method names the group of interests that its event belongs to, so that code with an event calls only the method.
// All closures but the generic methods' capture nothing: see `send`.

// MARK: - Session level

extension CompositeEventMonitor {
  public func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {
    send(.session, (session, error)) { $0.urlSession($1.0, didBecomeInvalidWithError: $1.1) }
  }

  public func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    send(.data, (session, task, bytesSent, totalBytesSent, totalBytesExpectedToSend)) {
      $0.urlSession(
        $1.0, task: $1.1, didSendBodyData: $1.2, totalBytesSent: $1.3, totalBytesExpectedToSend: $1.4)
    }
  }

  public func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {
    send(.redirects, (session, task, response, request)) {
      $0.urlSession($1.0, task: $1.1, willPerformHTTPRedirection: $1.2, newRequest: $1.3)
    }
  }

  public func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge) {
    send(.challenges, (session, task, challenge)) { $0.urlSession($1.0, task: $1.1, didReceive: $1.2) }
  }

  public func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {
    send(.tasks, (session, task, metrics)) { $0.urlSession($1.0, task: $1.1, didFinishCollecting: $1.2) }
  }

  public func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {
    send(.tasks, (session, task, error)) { $0.urlSession($1.0, task: $1.1, didCompleteWithError: $1.2) }
  }

  public func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask) {
    send(.tasks, (session, task)) { $0.urlSession($1.0, taskIsWaitingForConnectivity: $1.1) }
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {
    send(.tasks, (session, dataTask, response)) { $0.urlSession($1.0, dataTask: $1.1, didReceive: $1.2) }
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {
    send(.data, (session, dataTask, data)) { $0.urlSession($1.0, dataTask: $1.1, didReceive: $1.2) }
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse) {
    send(.tasks, (session, dataTask, response)) { $0.urlSession($1.0, dataTask: $1.1, willCacheResponse: $1.2) }
  }

  public func session(_ session: Session, connectionEvent event: ConnectionEvent) {
    let isChange = event.kind == .opened || event.kind == .closed
    send(isChange ? .connections : .connectionUse, (session, event)) { $0.session($1.0, connectionEvent: $1.1) }
  }

  public func session(_ session: Session, loopLag lag: TimeInterval) {
    send(.session, (session, lag)) { $0.session($1.0, loopLag: $1.1) }
  }

  public func session(_ session: Session, retryBudget destination: Destination, available: Double) {
    send(.resilience, (session, destination, available)) { $0.session($1.0, retryBudget: $1.1, available: $1.2) }
  }

  public func session(_ session: Session, circuit destination: Destination, entered state: CircuitState) {
    send(.resilience, (session, destination, state)) { $0.session($1.0, circuit: $1.1, entered: $1.2) }
  }

  public func session(_ session: Session, overload destination: Destination, entered state: OverloadState) {
    send(.resilience, (session, destination, state)) { $0.session($1.0, overload: $1.1, entered: $1.2) }
  }

  public func session(_ session: Session, overload destination: Destination, report: OverloadReport) {
    send(.resilience, (session, destination, report)) { $0.session($1.0, overload: $1.1, report: $1.2) }
  }

  public func session(_ session: Session, endpointsOf origin: Destination, event: EndpointEvent) {
    send(.resilience, (session, origin, event)) { $0.session($1.0, endpointsOf: $1.1, event: $1.2) }
  }

  public func session(_ session: Session, refresh event: RefreshEvent) {
    send(.refreshes, (session, event)) { $0.session($1.0, refresh: $1.1) }
  }

  // MARK: Creation

  public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
    send(.creation, (request, urlRequest)) { $0.request($1.0, didCreateInitialURLRequest: $1.1) }
  }

  public func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {
    send(.creation, (request, error)) { $0.request($1.0, didFailToCreateURLRequestWithError: $1.1) }
  }

  public func request(
    _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
  ) {
    send(.creation, (request, initialRequest, adaptedRequest)) {
      $0.request($1.0, didAdaptInitialRequest: $1.1, to: $1.2)
    }
  }

  public func request(
    _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError
  ) {
    send(.creation, (request, initialRequest, error)) {
      $0.request($1.0, didFailToAdaptURLRequest: $1.1, withError: $1.2)
    }
  }

  public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
    send(.creation, (request, urlRequest)) { $0.request($1.0, didCreateURLRequest: $1.1) }
  }

  // MARK: Lifecycle

  public func request(_ request: Request, didCreateTask task: TransferTask) {
    send(.lifecycle, (request, task)) { $0.request($1.0, didCreateTask: $1.1) }
  }

  public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
    send(.tasks, (request, metrics)) { $0.request($1.0, didGatherMetrics: $1.1) }
  }

  public func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {
    send(.lifecycle, (request, task, error)) { $0.request($1.0, didFailTask: $1.1, earlyWithError: $1.2) }
  }

  public func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {
    send(.lifecycle, (request, task, error)) { $0.request($1.0, didCompleteTask: $1.1, with: $1.2) }
  }

  public func request(_ request: Request, didResumeTask task: TransferTask) {
    send(.lifecycle, (request, task)) { $0.request($1.0, didResumeTask: $1.1) }
  }

  public func request(_ request: Request, didSuspendTask task: TransferTask) {
    send(.lifecycle, (request, task)) { $0.request($1.0, didSuspendTask: $1.1) }
  }

  public func request(_ request: Request, didCancelTask task: TransferTask) {
    send(.lifecycle, (request, task)) { $0.request($1.0, didCancelTask: $1.1) }
  }

  public func requestIsRetrying(_ request: Request) {
    send([.lifecycle, .attempts], request) { $0.requestIsRetrying($1) }
  }

  public func requestDidFinish(_ request: Request) { send(.lifecycle, request) { $0.requestDidFinish($1) } }
  public func requestDidResume(_ request: Request) { send(.lifecycle, request) { $0.requestDidResume($1) } }
  public func requestDidSuspend(_ request: Request) { send(.lifecycle, request) { $0.requestDidSuspend($1) } }
  public func requestDidCancel(_ request: Request) { send(.lifecycle, request) { $0.requestDidCancel($1) } }

  // MARK: Responses

  public func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult
  ) {
    send(.responses, (request, urlRequest, response, data, result)) {
      $0.request($1.0, didValidateRequest: $1.1, response: $1.2, data: $1.3, withResult: $1.4)
    }
  }

  public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {
    send(.responses, (request, response)) { $0.request($1.0, didParseResponse: $1.1) }
  }

  public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {
    // Captured, since Swift 6.3 can't compile a tuple with this response.
    send(.responses, ()) { monitor, _ in monitor.request(request, didParseResponse: response) }
  }

  // MARK: Uploads

  public func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask) {
    send(.tasks, (session, task)) { $0.urlSession($1.0, taskNeedsNewBodyStream: $1.1) }
  }

  public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
    send(.creation, (request, uploadable)) { $0.request($1.0, didCreateUploadable: $1.1) }
  }

  public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError) {
    send(.creation, (request, error)) { $0.request($1.0, didFailToCreateUploadableWithError: $1.1) }
  }

  public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
    // An `Uploadable` may cross threads; the stream itself may not.
    send(.tasks, (request, UploadRequest.Uploadable.stream(stream))) {
      if case .stream(let stream) = $1.1 { $0.request($1.0, didProvideInputStream: stream) }
    }
  }

  // MARK: Downloads

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
  ) {
    send(.tasks, (session, downloadTask, fileOffset, expectedTotalBytes)) {
      $0.urlSession($1.0, downloadTask: $1.1, didResumeAtOffset: $1.2, expectedTotalBytes: $1.3)
    }
  }

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64
  ) {
    send(.data, (session, downloadTask, bytesWritten, totalBytesWritten, totalBytesExpectedToWrite)) {
      $0.urlSession(
        $1.0, downloadTask: $1.1, didWriteData: $1.2, totalBytesWritten: $1.3, totalBytesExpectedToWrite: $1.4)
    }
  }

  public func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL) {
    send(.tasks, (session, downloadTask, location)) {
      $0.urlSession($1.0, downloadTask: $1.1, didFinishDownloadingTo: $1.2)
    }
  }

  public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
    send(.lifecycle, (request, url)) { $0.request($1.0, didCreateDestinationURL: $1.1) }
  }

  public func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>
  ) {
    send(.lifecycle, (request, task, result)) { $0.request($1.0, didFinishDownloadingUsing: $1.1, with: $1.2) }
  }

  public func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult
  ) {
    send(.responses, (request, urlRequest, response, fileURL, result)) {
      $0.request($1.0, didValidateRequest: $1.1, response: $1.2, fileURL: $1.3, withResult: $1.4)
    }
  }

  public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>) {
    send(.responses, (request, response)) { $0.request($1.0, didParseResponse: $1.1) }
  }

  public func request<Value>(
    _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>
  ) {
    // The response is captured, as above.
    send(.responses, ()) { monitor, _ in monitor.request(request, didParseResponse: response) }
  }

  // MARK: Streams

  public func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult
  ) {
    send(.responses, (request, urlRequest, response, result)) {
      $0.request($1.0, didValidateRequest: $1.1, response: $1.2, withResult: $1.3)
    }
  }

  public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>) {
    send(.responses, ()) { monitor, _ in monitor.request(request, didParseStream: result) }
  }

  // MARK: Attempts

  public func request(
    _ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?
  ) {
    send([.attempts, .adaptations], (request, name, duration, error)) {
      $0.request($1.0, didAdaptUsing: $1.1, duration: $1.2, failed: $1.3)
    }
  }

  public func request(_ request: Request, didStartAttempt number: Int) {
    send(.attempts, (request, number)) { $0.request($1.0, didStartAttempt: $1.1) }
  }

  public func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {
    send(.attempts, (request, number, metrics, error)) {
      $0.request($1.0, didEndAttempt: $1.1, metrics: $1.2, error: $1.3)
    }
  }

  public func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {
    send(.attempts, (request, delay, source, reason)) {
      $0.request($1.0, willRetryAfter: $1.1, source: $1.2, reason: $1.3)
    }
  }

  public func request(_ request: Request, didDenyRetry denial: RetryDenial) {
    send(.attempts, (request, denial)) { $0.request($1.0, didDenyRetry: $1.1) }
  }

  public func request(_ request: Request, didReceiveInformationalResponse response: HTTPURLResponse) {
    send(.responses, (request, response)) { $0.request($1.0, didReceiveInformationalResponse: $1.1) }
  }

  public func request(_ request: Request, cache result: CacheResult) {
    send([.attempts, .adaptations], (request, result)) { $0.request($1.0, cache: $1.1) }
  }

  public func request(_ request: Request, hedge event: HedgeEvent) {
    send(.attempts, (request, event)) { $0.request($1.0, hedge: $1.1) }
  }

  public func request(_ request: Request, wasShed reason: ShedReason) {
    send(.attempts, (request, reason)) { $0.request($1.0, wasShed: $1.1) }
  }

  public func request(_ request: Request, abandonedIn phase: AbandonedPhase) {
    send(.attempts, (request, phase)) { $0.request($1.0, abandonedIn: $1.1) }
  }

  public func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    send(.attempts, (request, outcome)) { $0.requestDidSettle($1.0, outcome: $1.1) }
  }
}
