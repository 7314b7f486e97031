/// A monitor that passes on each event: a composite to its members, a monitor made of closures to one of those. The
/// callbacks below are the table of all events.
protocol ForwardingEventMonitor: EventMonitor {
  /// - Parameters:
  ///   - interest: The group of interests that the event belongs to. Code with an event calls only the callback.
  ///   - arguments: The values of the event. The closures get them so, and capture nothing but in generic callbacks:
  ///     then telling an inline monitor costs no allocation.
  ///   - event: Tells a monitor.
  ///   - closure: Calls the closure of the event.
  func forward<Arguments: Sendable>(
    _ interest: EventInterests, _ arguments: Arguments,
    _ event: @escaping @Sendable (any EventMonitor, Arguments) -> Void,
    _ closure: (ClosureEventMonitor, Arguments) -> Void)
}

extension ForwardingEventMonitor {
  // MARK: Session level

  public func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {
    forward(
      .session, (session, error), { $0.urlSession($1.0, didBecomeInvalidWithError: $1.1) },
      { $0.sessionDidBecomeInvalidWithError?($1.0, $1.1) })
  }

  public func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    forward(
      .data, (session, task, bytesSent, totalBytesSent, totalBytesExpectedToSend),
      { $0.urlSession($1.0, task: $1.1, didSendBodyData: $1.2, totalBytesSent: $1.3, totalBytesExpectedToSend: $1.4) },
      { $0.taskDidSendBodyData?($1.0, $1.1, $1.2, $1.3, $1.4) })
  }

  public func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {
    forward(
      .redirects, (session, task, response, request),
      { $0.urlSession($1.0, task: $1.1, willPerformHTTPRedirection: $1.2, newRequest: $1.3) },
      { $0.taskWillPerformHTTPRedirection?($1.0, $1.1, $1.2, $1.3) })
  }

  public func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge) {
    forward(
      .challenges, (session, task, challenge), { $0.urlSession($1.0, task: $1.1, didReceive: $1.2) },
      { $0.taskDidReceiveChallenge?($1.0, $1.1, $1.2) })
  }

  public func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {
    forward(
      .tasks, (session, task, metrics), { $0.urlSession($1.0, task: $1.1, didFinishCollecting: $1.2) },
      { $0.taskDidFinishCollectingMetrics?($1.0, $1.1, $1.2) })
  }

  public func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {
    forward(
      .tasks, (session, task, error), { $0.urlSession($1.0, task: $1.1, didCompleteWithError: $1.2) },
      { $0.taskDidComplete?($1.0, $1.1, $1.2) })
  }

  public func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask) {
    forward(
      .tasks, (session, task), { $0.urlSession($1.0, taskIsWaitingForConnectivity: $1.1) },
      { $0.taskIsWaitingForConnectivity?($1.0, $1.1) })
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {
    forward(
      .tasks, (session, dataTask, response), { $0.urlSession($1.0, dataTask: $1.1, didReceive: $1.2) },
      { $0.dataTaskDidReceiveResponse?($1.0, $1.1, $1.2) })
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {
    forward(
      .data, (session, dataTask, data), { $0.urlSession($1.0, dataTask: $1.1, didReceive: $1.2) },
      { $0.dataTaskDidReceiveData?($1.0, $1.1, $1.2) })
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse) {
    forward(
      .tasks, (session, dataTask, response), { $0.urlSession($1.0, dataTask: $1.1, willCacheResponse: $1.2) },
      { $0.dataTaskWillCacheResponse?($1.0, $1.1, $1.2) })
  }

  // MARK: Requests of all kinds

  public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
    forward(
      .creation, (request, urlRequest), { $0.request($1.0, didCreateInitialURLRequest: $1.1) },
      { $0.requestDidCreateInitialURLRequest?($1.0, $1.1) })
  }

  public func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {
    forward(
      .creation, (request, error), { $0.request($1.0, didFailToCreateURLRequestWithError: $1.1) },
      { $0.requestDidFailToCreateURLRequestWithError?($1.0, $1.1) })
  }

  public func request(
    _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
  ) {
    forward(
      .creation, (request, initialRequest, adaptedRequest),
      { $0.request($1.0, didAdaptInitialRequest: $1.1, to: $1.2) },
      { $0.requestDidAdaptInitialRequestToAdaptedRequest?($1.0, $1.1, $1.2) })
  }

  public func request(
    _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError
  ) {
    forward(
      .creation, (request, initialRequest, error),
      { $0.request($1.0, didFailToAdaptURLRequest: $1.1, withError: $1.2) },
      { $0.requestDidFailToAdaptURLRequestWithError?($1.0, $1.1, $1.2) })
  }

  public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
    forward(
      .creation, (request, urlRequest), { $0.request($1.0, didCreateURLRequest: $1.1) },
      { $0.requestDidCreateURLRequest?($1.0, $1.1) })
  }

  public func request(_ request: Request, didCreateTask task: TransferTask) {
    forward(
      .lifecycle, (request, task), { $0.request($1.0, didCreateTask: $1.1) }, { $0.requestDidCreateTask?($1.0, $1.1) })
  }

  public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
    forward(
      .tasks, (request, metrics), { $0.request($1.0, didGatherMetrics: $1.1) },
      { $0.requestDidGatherMetrics?($1.0, $1.1) })
  }

  public func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {
    forward(
      .lifecycle, (request, task, error), { $0.request($1.0, didFailTask: $1.1, earlyWithError: $1.2) },
      { $0.requestDidFailTaskEarlyWithError?($1.0, $1.1, $1.2) })
  }

  public func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {
    forward(
      .lifecycle, (request, task, error), { $0.request($1.0, didCompleteTask: $1.1, with: $1.2) },
      { $0.requestDidCompleteTaskWithError?($1.0, $1.1, $1.2) })
  }

  public func request(_ request: Request, didResumeTask task: TransferTask) {
    forward(
      .lifecycle, (request, task), { $0.request($1.0, didResumeTask: $1.1) }, { $0.requestDidResumeTask?($1.0, $1.1) })
  }

  public func request(_ request: Request, didSuspendTask task: TransferTask) {
    forward(
      .lifecycle, (request, task), { $0.request($1.0, didSuspendTask: $1.1) }, { $0.requestDidSuspendTask?($1.0, $1.1) }
    )
  }

  public func request(_ request: Request, didCancelTask task: TransferTask) {
    forward(
      .lifecycle, (request, task), { $0.request($1.0, didCancelTask: $1.1) }, { $0.requestDidCancelTask?($1.0, $1.1) })
  }

  public func requestIsRetrying(_ request: Request) {
    forward([.lifecycle, .attempts], request, { $0.requestIsRetrying($1) }, { $0.requestIsRetrying?($1) })
  }

  public func requestDidFinish(_ request: Request) {
    forward(.lifecycle, request, { $0.requestDidFinish($1) }, { $0.requestDidFinish?($1) })
  }

  public func requestDidResume(_ request: Request) {
    forward(.lifecycle, request, { $0.requestDidResume($1) }, { $0.requestDidResume?($1) })
  }

  public func requestDidSuspend(_ request: Request) {
    forward(.lifecycle, request, { $0.requestDidSuspend($1) }, { $0.requestDidSuspend?($1) })
  }

  public func requestDidCancel(_ request: Request) {
    forward(.lifecycle, request, { $0.requestDidCancel($1) }, { $0.requestDidCancel?($1) })
  }

  // MARK: Data requests

  public func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult
  ) {
    forward(
      .responses, (request, urlRequest, response, data, result),
      { $0.request($1.0, didValidateRequest: $1.1, response: $1.2, data: $1.3, withResult: $1.4) },
      { $0.requestDidValidateRequestResponseDataWithResult?($1.0, $1.1, $1.2, $1.3, $1.4) })
  }

  public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {
    forward(
      .responses, (request, response), { $0.request($1.0, didParseResponse: $1.1) },
      { $0.requestDidParseResponse?($1.0, $1.1) })
  }

  public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {
    // Captured, since Swift 6.3 can't compile a tuple with this response.
    forward(
      .responses, (), { monitor, _ in monitor.request(request, didParseResponse: response) },
      { monitor, _ in monitor.requestDidParseValue?(request, response.map { $0 }) })
  }

  // MARK: Uploads

  public func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask) {
    forward(
      .tasks, (session, task), { $0.urlSession($1.0, taskNeedsNewBodyStream: $1.1) },
      { $0.taskNeedNewBodyStream?($1.0, $1.1) })
  }

  public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
    forward(
      .creation, (request, uploadable), { $0.request($1.0, didCreateUploadable: $1.1) },
      { $0.requestDidCreateUploadable?($1.0, $1.1) })
  }

  public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError) {
    forward(
      .creation, (request, error), { $0.request($1.0, didFailToCreateUploadableWithError: $1.1) },
      { $0.requestDidFailToCreateUploadableWithError?($1.0, $1.1) })
  }

  public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
    // An `Uploadable` may cross threads; the stream itself may not.
    forward(
      .tasks, (request, UploadRequest.Uploadable.stream(stream)),
      { if case .stream(let stream) = $1.1 { $0.request($1.0, didProvideInputStream: stream) } },
      { if case .stream(let stream) = $1.1 { $0.requestDidProvideInputStream?($1.0, stream) } })
  }

  // MARK: Downloads

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
  ) {
    forward(
      .tasks, (session, downloadTask, fileOffset, expectedTotalBytes),
      { $0.urlSession($1.0, downloadTask: $1.1, didResumeAtOffset: $1.2, expectedTotalBytes: $1.3) },
      { $0.downloadTaskDidResumeAtOffset?($1.0, $1.1, $1.2, $1.3) })
  }

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64
  ) {
    forward(
      .data, (session, downloadTask, bytesWritten, totalBytesWritten, totalBytesExpectedToWrite),
      {
        $0.urlSession(
          $1.0, downloadTask: $1.1, didWriteData: $1.2, totalBytesWritten: $1.3, totalBytesExpectedToWrite: $1.4)
      }, { $0.downloadTaskDidWriteData?($1.0, $1.1, $1.2, $1.3, $1.4) })
  }

  public func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL) {
    forward(
      .tasks, (session, downloadTask, location),
      { $0.urlSession($1.0, downloadTask: $1.1, didFinishDownloadingTo: $1.2) },
      { $0.downloadTaskDidFinishDownloadingToURL?($1.0, $1.1, $1.2) })
  }

  public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
    forward(
      .lifecycle, (request, url), { $0.request($1.0, didCreateDestinationURL: $1.1) },
      { $0.requestDidCreateDestinationURL?($1.0, $1.1) })
  }

  public func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>
  ) {
    forward(
      .lifecycle, (request, task, result), { $0.request($1.0, didFinishDownloadingUsing: $1.1, with: $1.2) },
      { $0.requestDidFinishDownloadingUsingTaskWithResult?($1.0, $1.1, $1.2) })
  }

  public func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult
  ) {
    forward(
      .responses, (request, urlRequest, response, fileURL, result),
      { $0.request($1.0, didValidateRequest: $1.1, response: $1.2, fileURL: $1.3, withResult: $1.4) },
      { $0.requestDidValidateRequestResponseFileURLWithResult?($1.0, $1.1, $1.2, $1.3, $1.4) })
  }

  public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>) {
    forward(
      .responses, (request, response), { $0.request($1.0, didParseResponse: $1.1) },
      { $0.requestDidParseDownloadResponse?($1.0, $1.1) })
  }

  public func request<Value>(
    _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>
  ) {
    // The response is captured, as above.
    forward(
      .responses, (), { monitor, _ in monitor.request(request, didParseResponse: response) },
      { monitor, _ in monitor.requestDidParseDownloadValue?(request, response.map { $0 }) })
  }

  // MARK: Streams

  public func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult
  ) {
    forward(
      .responses, (request, urlRequest, response, result),
      { $0.request($1.0, didValidateRequest: $1.1, response: $1.2, withResult: $1.3) },
      { $0.requestDidValidateRequestResponseWithResult?($1.0, $1.1, $1.2, $1.3) })
  }

  public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>) {
    forward(
      .responses, (), { monitor, _ in monitor.request(request, didParseStream: result) },
      { monitor, _ in monitor.requestDidParseStream?(request, result.map { $0 }) })
  }
}
