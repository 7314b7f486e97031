// Each callback calls its closure.
extension ClosureEventMonitor {
  public func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {
    sessionDidBecomeInvalidWithError?(session, error)
  }

  public func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    taskDidSendBodyData?(session, task, bytesSent, totalBytesSent, totalBytesExpectedToSend)
  }

  public func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {
    taskWillPerformHTTPRedirection?(session, task, response, request)
  }

  public func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge) {
    taskDidReceiveChallenge?(session, task, challenge)
  }

  public func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {
    taskDidFinishCollectingMetrics?(session, task, metrics)
  }

  public func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {
    taskDidComplete?(session, task, error)
  }

  public func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask) {
    taskIsWaitingForConnectivity?(session, task)
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {
    dataTaskDidReceiveResponse?(session, dataTask, response)
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {
    dataTaskDidReceiveData?(session, dataTask, data)
  }

  public func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse) {
    dataTaskWillCacheResponse?(session, dataTask, response)
  }

  public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
    requestDidCreateInitialURLRequest?(request, urlRequest)
  }

  public func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {
    requestDidFailToCreateURLRequestWithError?(request, error)
  }

  public func request(
    _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
  ) {
    requestDidAdaptInitialRequestToAdaptedRequest?(request, initialRequest, adaptedRequest)
  }

  public func request(
    _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError
  ) {
    requestDidFailToAdaptURLRequestWithError?(request, initialRequest, error)
  }

  public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
    requestDidCreateURLRequest?(request, urlRequest)
  }

  public func request(_ request: Request, didCreateTask task: TransferTask) {
    requestDidCreateTask?(request, task)
  }

  public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
    requestDidGatherMetrics?(request, metrics)
  }

  public func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {
    requestDidFailTaskEarlyWithError?(request, task, error)
  }

  public func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {
    requestDidCompleteTaskWithError?(request, task, error)
  }

  public func requestIsRetrying(_ request: Request) { requestIsRetrying?(request) }
  public func requestDidFinish(_ request: Request) { requestDidFinish?(request) }
  public func requestDidResume(_ request: Request) { requestDidResume?(request) }
  public func requestDidSuspend(_ request: Request) { requestDidSuspend?(request) }
  public func requestDidCancel(_ request: Request) { requestDidCancel?(request) }

  public func request(_ request: Request, didResumeTask task: TransferTask) {
    requestDidResumeTask?(request, task)
  }

  public func request(_ request: Request, didSuspendTask task: TransferTask) {
    requestDidSuspendTask?(request, task)
  }

  public func request(_ request: Request, didCancelTask task: TransferTask) {
    requestDidCancelTask?(request, task)
  }

  public func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult
  ) {
    requestDidValidateRequestResponseDataWithResult?(request, urlRequest, response, data, result)
  }

  public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {
    requestDidParseResponse?(request, response)
  }

  // MARK: Uploads

  public func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask) {
    taskNeedNewBodyStream?(session, task)
  }

  public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
    requestDidCreateUploadable?(request, uploadable)
  }

  public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError) {
    requestDidFailToCreateUploadableWithError?(request, error)
  }

  public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
    requestDidProvideInputStream?(request, stream)
  }

  // MARK: Downloads

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
  ) {
    downloadTaskDidResumeAtOffset?(session, downloadTask, fileOffset, expectedTotalBytes)
  }

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64
  ) {
    downloadTaskDidWriteData?(session, downloadTask, bytesWritten, totalBytesWritten, totalBytesExpectedToWrite)
  }

  public func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL) {
    downloadTaskDidFinishDownloadingToURL?(session, downloadTask, location)
  }

  public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
    requestDidCreateDestinationURL?(request, url)
  }

  public func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>
  ) {
    requestDidFinishDownloadingUsingTaskWithResult?(request, task, result)
  }

  public func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult
  ) {
    requestDidValidateRequestResponseFileURLWithResult?(request, urlRequest, response, fileURL, result)
  }

  public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>) {
    requestDidParseDownloadResponse?(request, response)
  }

  // MARK: Streams

  public func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult
  ) {
    requestDidValidateRequestResponseWithResult?(request, urlRequest, response, result)
  }
}
