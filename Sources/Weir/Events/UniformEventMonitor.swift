/// A monitor that does the same with every event: a composite passes it on to its members, a closure monitor to the
/// event's closure, a logging monitor makes a record. The callbacks below are the table of all events.
protocol UniformEventMonitor: EventMonitor {
  /// - Parameters:
  ///   - interest: The group of interests that the event belongs to. Code with an event calls only the callback.
  ///   - arguments: The values of the event, for `event`.
  ///   - event: Tells a monitor. Except in generic callbacks it captures nothing, so that it costs no allocation to tell
  ///     an inline monitor.
  ///   - closure: Calls the event's closure.
  ///   - line: Logs the event, without secrets.
  func handle<Arguments: Sendable>(
    _ interest: EventInterests, _ arguments: Arguments,
    _ event: @escaping @Sendable (any EventMonitor, Arguments) -> Void,
    _ closure: (ClosureEventMonitor) -> Void, _ line: (LoggingEventMonitor) -> Void)
}

extension UniformEventMonitor {
  // MARK: Session level

  public func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {
    handle(
      .session, (session, error), { $0.urlSession($1.0, didBecomeInvalidWithError: $1.1) },
      { $0.sessionDidBecomeInvalidWithError?(session, error) },
      { $0.log("session.didBecomeInvalid", .error(error), level: .debug) })
  }

  public func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    handle(
      .data, (session, task, bytesSent, totalBytesSent, totalBytesExpectedToSend),
      { $0.urlSession($1.0, task: $1.1, didSendBodyData: $1.2, totalBytesSent: $1.3, totalBytesExpectedToSend: $1.4) },
      { $0.taskDidSendBodyData?(session, task, bytesSent, totalBytesSent, totalBytesExpectedToSend) },
      { $0.log("session.didSendBodyData", .task(task), "\(totalBytesSent) of \(totalBytesExpectedToSend) bytes") })
  }

  public func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {
    handle(
      .redirects, (session, task, response, request),
      { $0.urlSession($1.0, task: $1.1, willPerformHTTPRedirection: $1.2, newRequest: $1.3) },
      { $0.taskWillPerformHTTPRedirection?(session, task, response, request) },
      { $0.log("session.willPerformHTTPRedirection", .task(task), .status(response), "\(request.logText)") })
  }

  public func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge) {
    handle(
      .challenges, (session, task, challenge), { $0.urlSession($1.0, task: $1.1, didReceive: $1.2) },
      { $0.taskDidReceiveChallenge?(session, task, challenge) },
      { $0.log("session.didReceiveChallenge", .task(task), "\(challenge.logText)") })
  }

  public func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {
    handle(
      .tasks, (session, task, metrics), { $0.urlSession($1.0, task: $1.1, didFinishCollecting: $1.2) },
      { $0.taskDidFinishCollectingMetrics?(session, task, metrics) },
      { $0.log("session.didFinishCollecting", .task(task), .metrics(metrics)) })
  }

  public func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {
    handle(
      .tasks, (session, task, error), { $0.urlSession($1.0, task: $1.1, didCompleteWithError: $1.2) },
      { $0.taskDidComplete?(session, task, error) }, { $0.log("session.didComplete", .task(task), .error(error)) })
  }

  public func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask) {
    handle(
      .tasks, (session, task), { $0.urlSession($1.0, taskIsWaitingForConnectivity: $1.1) },
      { $0.taskIsWaitingForConnectivity?(session, task) }, { _ in })
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {
    handle(
      .tasks, (session, dataTask, response), { $0.urlSession($1.0, dataTask: $1.1, didReceive: $1.2) },
      { $0.dataTaskDidReceiveResponse?(session, dataTask, response) },
      {
        $0.log(
          "session.didReceiveResponse", .task(dataTask), .status(response)
        )
      })
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {
    handle(
      .data, (session, dataTask, data), { $0.urlSession($1.0, dataTask: $1.1, didReceive: $1.2) },
      { $0.dataTaskDidReceiveData?(session, dataTask, data) },
      { $0.log("session.didReceiveData", .task(dataTask), "\(data.count) bytes") })
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse) {
    handle(
      .tasks, (session, dataTask, response), { $0.urlSession($1.0, dataTask: $1.1, willCacheResponse: $1.2) },
      { $0.dataTaskWillCacheResponse?(session, dataTask, response) },
      { $0.log("session.willCacheResponse", .task(dataTask), "\(response.data.count) bytes") })
  }

  // MARK: Requests of all kinds

  public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
    handle(
      .creation, (request, urlRequest), { $0.request($1.0, didCreateInitialURLRequest: $1.1) },
      { $0.requestDidCreateInitialURLRequest?(request, urlRequest) },
      { $0.log("request.didCreateInitialURLRequest", request, "\(urlRequest.logText)") })
  }

  public func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {
    handle(
      .creation, (request, error), { $0.request($1.0, didFailToCreateURLRequestWithError: $1.1) },
      { $0.requestDidFailToCreateURLRequestWithError?(request, error) },
      { $0.log("request.didFailToCreateURLRequest", request, .error(error)) })
  }

  public func request(
    _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
  ) {
    handle(
      .creation, (request, initialRequest, adaptedRequest),
      { $0.request($1.0, didAdaptInitialRequest: $1.1, to: $1.2) },
      { $0.requestDidAdaptInitialRequestToAdaptedRequest?(request, initialRequest, adaptedRequest) },
      { $0.log("request.didAdaptInitialRequest", request, "\(adaptedRequest.logText)") })
  }

  public func request(
    _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError
  ) {
    handle(
      .creation, (request, initialRequest, error),
      { $0.request($1.0, didFailToAdaptURLRequest: $1.1, withError: $1.2) },
      { $0.requestDidFailToAdaptURLRequestWithError?(request, initialRequest, error) },
      { $0.log("request.didFailToAdaptURLRequest", request, "\(initialRequest.logText)", .error(error)) })
  }

  public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
    handle(
      .creation, (request, urlRequest), { $0.request($1.0, didCreateURLRequest: $1.1) },
      { $0.requestDidCreateURLRequest?(request, urlRequest) },
      { $0.log("request.didCreateURLRequest", request, "\(urlRequest.logText)") })
  }

  public func request(_ request: Request, didCreateTask task: TransferTask) {
    handle(
      .lifecycle, (request, task), { $0.request($1.0, didCreateTask: $1.1) },
      { $0.requestDidCreateTask?(request, task) }, { $0.log("request.didCreateTask", request, .task(task)) })
  }

  public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
    handle(
      .tasks, (request, metrics), { $0.request($1.0, didGatherMetrics: $1.1) },
      { $0.requestDidGatherMetrics?(request, metrics) },
      { $0.log("request.didGatherMetrics", request, .metrics(metrics)) })
  }

  public func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {
    handle(
      .lifecycle, (request, task, error), { $0.request($1.0, didFailTask: $1.1, earlyWithError: $1.2) },
      { $0.requestDidFailTaskEarlyWithError?(request, task, error) },
      { $0.log("request.didFailTaskEarly", request, .task(task), .error(error)) })
  }

  public func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {
    handle(
      .lifecycle, (request, task, error), { $0.request($1.0, didCompleteTask: $1.1, with: $1.2) },
      { $0.requestDidCompleteTaskWithError?(request, task, error) },
      { $0.log("request.didCompleteTask", request, .task(task), .error(error)) })
  }

  public func request(_ request: Request, didResumeTask task: TransferTask) {
    handle(
      .lifecycle, (request, task), { $0.request($1.0, didResumeTask: $1.1) },
      { $0.requestDidResumeTask?(request, task) }, { $0.log("request.didResumeTask", request, .task(task)) })
  }

  public func request(_ request: Request, didSuspendTask task: TransferTask) {
    handle(
      .lifecycle, (request, task), { $0.request($1.0, didSuspendTask: $1.1) },
      { $0.requestDidSuspendTask?(request, task) }, { $0.log("request.didSuspendTask", request, .task(task)) })
  }

  public func request(_ request: Request, didCancelTask task: TransferTask) {
    handle(
      .lifecycle, (request, task), { $0.request($1.0, didCancelTask: $1.1) },
      { $0.requestDidCancelTask?(request, task) }, { $0.log("request.didCancelTask", request, .task(task)) })
  }

  public func requestIsRetrying(_ request: Request) {
    handle(
      [.lifecycle, .attempts], request, { $0.requestIsRetrying($1) }, { $0.requestIsRetrying?(request) },
      { $0.log("request.isRetrying", request, "\(request.retryCount)") })
  }

  public func requestDidFinish(_ request: Request) {
    handle(
      .lifecycle, request, { $0.requestDidFinish($1) }, { $0.requestDidFinish?(request) },
      { $0.log("request.didFinish", request) })
  }

  public func requestDidResume(_ request: Request) {
    handle(
      .lifecycle, request, { $0.requestDidResume($1) }, { $0.requestDidResume?(request) },
      { $0.log("request.didResume", request) })
  }

  public func requestDidSuspend(_ request: Request) {
    handle(
      .lifecycle, request, { $0.requestDidSuspend($1) }, { $0.requestDidSuspend?(request) },
      { $0.log("request.didSuspend", request) })
  }

  public func requestDidCancel(_ request: Request) {
    handle(
      .lifecycle, request, { $0.requestDidCancel($1) }, { $0.requestDidCancel?(request) },
      { $0.log("request.didCancel", request) })
  }

  // MARK: Data requests

  public func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult
  ) {
    handle(
      .responses, (request, urlRequest, response, data, result),
      { $0.request($1.0, didValidateRequest: $1.1, response: $1.2, data: $1.3, withResult: $1.4) },
      { $0.requestDidValidateRequestResponseDataWithResult?(request, urlRequest, response, data, result) },
      { $0.log("request.didValidate", request, .status(response), .result(result)) })
  }

  public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {
    handle(
      .responses, (request, response), { $0.request($1.0, didParseResponse: $1.1) },
      { $0.requestDidParseResponse?(request, response) },
      { $0.log("request.didParseResponse", request, .result(response.result)) })
  }

  public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {
    // Captured, since Swift 6.3 can't compile a tuple with this response.
    handle(
      .responses, (), { monitor, _ in monitor.request(request, didParseResponse: response) },
      { $0.requestDidParseValue?(request, response.map { $0 }) },
      { $0.log("request.didParseResponse", request, .result(response.result)) })
  }

  // MARK: Uploads

  public func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask) {
    handle(
      .tasks, (session, task), { $0.urlSession($1.0, taskNeedsNewBodyStream: $1.1) },
      { $0.taskNeedNewBodyStream?(session, task) }, { $0.log("session.taskNeedsNewBodyStream", .task(task)) })
  }

  public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
    handle(
      .creation, (request, uploadable), { $0.request($1.0, didCreateUploadable: $1.1) },
      { $0.requestDidCreateUploadable?(request, uploadable) },
      { $0.log("request.didCreateUploadable", request, "\(uploadable.logText)") })
  }

  public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError) {
    handle(
      .creation, (request, error), { $0.request($1.0, didFailToCreateUploadableWithError: $1.1) },
      { $0.requestDidFailToCreateUploadableWithError?(request, error) },
      { $0.log("request.didFailToCreateUploadable", request, .error(error)) })
  }

  public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
    // An `Uploadable` may cross threads; the stream itself may not.
    handle(
      .tasks, (request, UploadRequest.Uploadable.stream(stream)),
      { if case .stream(let stream) = $1.1 { $0.request($1.0, didProvideInputStream: stream) } },
      { $0.requestDidProvideInputStream?(request, stream) }, { $0.log("request.didProvideInputStream", request) })
  }

  // MARK: Downloads

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
  ) {
    handle(
      .tasks, (session, downloadTask, fileOffset, expectedTotalBytes),
      { $0.urlSession($1.0, downloadTask: $1.1, didResumeAtOffset: $1.2, expectedTotalBytes: $1.3) },
      { $0.downloadTaskDidResumeAtOffset?(session, downloadTask, fileOffset, expectedTotalBytes) },
      { $0.log("session.didResumeAtOffset", .task(downloadTask), "\(fileOffset) of \(expectedTotalBytes) bytes") })
  }

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64
  ) {
    handle(
      .data, (session, downloadTask, bytesWritten, totalBytesWritten, totalBytesExpectedToWrite),
      {
        $0.urlSession(
          $1.0, downloadTask: $1.1, didWriteData: $1.2, totalBytesWritten: $1.3, totalBytesExpectedToWrite: $1.4)
      },
      {
        $0.downloadTaskDidWriteData?(session, downloadTask, bytesWritten, totalBytesWritten, totalBytesExpectedToWrite)
      },
      {
        $0.log(
          "session.didWriteData", .task(downloadTask), "\(totalBytesWritten) of \(totalBytesExpectedToWrite) bytes")
      })
  }

  public func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL) {
    handle(
      .tasks, (session, downloadTask, location),
      { $0.urlSession($1.0, downloadTask: $1.1, didFinishDownloadingTo: $1.2) },
      { $0.downloadTaskDidFinishDownloadingToURL?(session, downloadTask, location) },
      { $0.log("session.didFinishDownloading", .task(downloadTask), "\(location.path)") })
  }

  public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
    handle(
      .lifecycle, (request, url), { $0.request($1.0, didCreateDestinationURL: $1.1) },
      { $0.requestDidCreateDestinationURL?(request, url) },
      { $0.log("request.didCreateDestinationURL", request, "\(url.path)") })
  }

  public func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>
  ) {
    handle(
      .lifecycle, (request, task, result), { $0.request($1.0, didFinishDownloadingUsing: $1.1, with: $1.2) },
      { $0.requestDidFinishDownloadingUsingTaskWithResult?(request, task, result) },
      { $0.log("request.didFinishDownloading", request, .task(task), .result(result)) })
  }

  public func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult
  ) {
    handle(
      .responses, (request, urlRequest, response, fileURL, result),
      { $0.request($1.0, didValidateRequest: $1.1, response: $1.2, fileURL: $1.3, withResult: $1.4) },
      { $0.requestDidValidateRequestResponseFileURLWithResult?(request, urlRequest, response, fileURL, result) },
      { $0.log("request.didValidate", request, .status(response), .result(result)) })
  }

  public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>) {
    handle(
      .responses, (request, response), { $0.request($1.0, didParseResponse: $1.1) },
      { $0.requestDidParseDownloadResponse?(request, response) },
      { $0.log("request.didParseResponse", request, .result(response.result)) })
  }

  public func request<Value>(
    _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>
  ) {
    // The response is captured, as above.
    handle(
      .responses, (), { monitor, _ in monitor.request(request, didParseResponse: response) },
      { $0.requestDidParseDownloadValue?(request, response.map { $0 }) },
      { $0.log("request.didParseResponse", request, .result(response.result)) })
  }

  // MARK: Streams

  public func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult
  ) {
    handle(
      .responses, (request, urlRequest, response, result),
      { $0.request($1.0, didValidateRequest: $1.1, response: $1.2, withResult: $1.3) },
      { $0.requestDidValidateRequestResponseWithResult?(request, urlRequest, response, result) },
      { $0.log("request.didValidate", request, .status(response), .result(result)) })
  }

  public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>) {
    handle(
      .responses, (), { monitor, _ in monitor.request(request, didParseStream: result) },
      { $0.requestDidParseStream?(request, result.map { $0 }) },
      { $0.log("request.didParseStream", request, .result(result)) })
  }
}
