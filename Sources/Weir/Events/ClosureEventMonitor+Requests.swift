// Requests of all kinds, then those of one kind.
extension ClosureEventMonitor {
  /// Called for ``EventMonitor/request(_:didCreateInitialURLRequest:)``.
  @preconcurrency
  public var requestDidCreateInitialURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
    requestDidCreateInitialURLRequest?(request, urlRequest)
  }

  /// Called for ``EventMonitor/request(_:didFailToCreateURLRequestWithError:)``.
  @preconcurrency
  public var requestDidFailToCreateURLRequestWithError: (@Sendable (Request, WeirError) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {
    requestDidFailToCreateURLRequestWithError?(request, error)
  }

  /// Called for ``EventMonitor/request(_:didAdaptInitialRequest:to:)``.
  @preconcurrency
  public var requestDidAdaptInitialRequestToAdaptedRequest: (@Sendable (Request, URLRequest, URLRequest) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(
    _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
  ) {
    requestDidAdaptInitialRequestToAdaptedRequest?(request, initialRequest, adaptedRequest)
  }

  /// Called for ``EventMonitor/request(_:didFailToAdaptURLRequest:withError:)``.
  @preconcurrency
  public var requestDidFailToAdaptURLRequestWithError: (@Sendable (Request, URLRequest, WeirError) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(
    _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError
  ) {
    requestDidFailToAdaptURLRequestWithError?(request, initialRequest, error)
  }

  /// Called for ``EventMonitor/request(_:didCreateURLRequest:)``.
  @preconcurrency
  public var requestDidCreateURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
    requestDidCreateURLRequest?(request, urlRequest)
  }

  /// Called for ``EventMonitor/request(_:didCreateTask:)``.
  @preconcurrency
  public var requestDidCreateTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: Request, didCreateTask task: TransferTask) {
    requestDidCreateTask?(request, task)
  }

  /// Called for ``EventMonitor/request(_:didGatherMetrics:)``.
  @preconcurrency
  public var requestDidGatherMetrics: (@Sendable (Request, TransferMetrics) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
    requestDidGatherMetrics?(request, metrics)
  }

  /// Called for ``EventMonitor/request(_:didFailTask:earlyWithError:)``.
  @preconcurrency
  public var requestDidFailTaskEarlyWithError: (@Sendable (Request, TransferTask, WeirError) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {
    requestDidFailTaskEarlyWithError?(request, task, error)
  }

  /// Called for ``EventMonitor/request(_:didCompleteTask:with:)``.
  @preconcurrency
  public var requestDidCompleteTaskWithError: (@Sendable (Request, TransferTask, WeirError?) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {
    requestDidCompleteTaskWithError?(request, task, error)
  }

  /// Called for ``EventMonitor/request(_:didResumeTask:)``.
  @preconcurrency
  public var requestDidResumeTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: Request, didResumeTask task: TransferTask) {
    requestDidResumeTask?(request, task)
  }

  /// Called for ``EventMonitor/request(_:didSuspendTask:)``.
  @preconcurrency
  public var requestDidSuspendTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: Request, didSuspendTask task: TransferTask) {
    requestDidSuspendTask?(request, task)
  }

  /// Called for ``EventMonitor/request(_:didCancelTask:)``.
  @preconcurrency
  public var requestDidCancelTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: Request, didCancelTask task: TransferTask) {
    requestDidCancelTask?(request, task)
  }

  /// Called for ``EventMonitor/requestIsRetrying(_:)``.
  @preconcurrency
  public var requestIsRetrying: (@Sendable (Request) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func requestIsRetrying(_ request: Request) { requestIsRetrying?(request) }

  /// Called for ``EventMonitor/requestDidFinish(_:)``.
  @preconcurrency
  public var requestDidFinish: (@Sendable (Request) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func requestDidFinish(_ request: Request) { requestDidFinish?(request) }

  /// Called for ``EventMonitor/requestDidResume(_:)``.
  @preconcurrency
  public var requestDidResume: (@Sendable (Request) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func requestDidResume(_ request: Request) { requestDidResume?(request) }

  /// Called for ``EventMonitor/requestDidSuspend(_:)``.
  @preconcurrency
  public var requestDidSuspend: (@Sendable (Request) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func requestDidSuspend(_ request: Request) { requestDidSuspend?(request) }

  /// Called for ``EventMonitor/requestDidCancel(_:)``.
  @preconcurrency
  public var requestDidCancel: (@Sendable (Request) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func requestDidCancel(_ request: Request) { requestDidCancel?(request) }

  // MARK: Data requests

  /// Called for ``EventMonitor/request(_:didValidateRequest:response:data:withResult:)``.
  @preconcurrency
  public var requestDidValidateRequestResponseDataWithResult:
    (@Sendable (DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }
  public func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult
  ) {
    requestDidValidateRequestResponseDataWithResult?(request, urlRequest, response, data, result)
  }

  /// Called for `request(_:didParseResponse:)` of ``EventMonitor``, for handlers that take the body as it is.
  @preconcurrency
  public var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, WeirError>) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {
    requestDidParseResponse?(request, response)
  }

  /// Called for `request(_:didParseResponse:)` of ``EventMonitor`` for handlers that serialize the body.
  @preconcurrency
  public var requestDidParseValue: (@Sendable (DataRequest, DataResponse<any Sendable, WeirError>) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {
    requestDidParseValue?(request, response.map { $0 })
  }

  // MARK: Uploads

  /// Called for ``EventMonitor/request(_:didCreateUploadable:)``.
  @preconcurrency
  public var requestDidCreateUploadable: (@Sendable (UploadRequest, UploadRequest.Uploadable) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
    requestDidCreateUploadable?(request, uploadable)
  }

  /// Called for ``EventMonitor/request(_:didFailToCreateUploadableWithError:)``.
  @preconcurrency
  public var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, WeirError) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError) {
    requestDidFailToCreateUploadableWithError?(request, error)
  }

  /// Called for ``EventMonitor/request(_:didProvideInputStream:)``.
  @preconcurrency
  public var requestDidProvideInputStream: (@Sendable (UploadRequest, InputStream) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
    requestDidProvideInputStream?(request, stream)
  }

  // MARK: Downloads

  /// Called for ``EventMonitor/request(_:didCreateDestinationURL:)``.
  @preconcurrency
  public var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
    requestDidCreateDestinationURL?(request, url)
  }

  /// Called for ``EventMonitor/request(_:didFinishDownloadingUsing:with:)``.
  @preconcurrency
  public var requestDidFinishDownloadingUsingTaskWithResult:
    (@Sendable (DownloadRequest, TransferTask, Result<URL, WeirError>) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }
  public func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>
  ) {
    requestDidFinishDownloadingUsingTaskWithResult?(request, task, result)
  }

  /// Called for ``EventMonitor/request(_:didValidateRequest:response:fileURL:withResult:)``.
  @preconcurrency
  public var requestDidValidateRequestResponseFileURLWithResult:
    (@Sendable (DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }
  public func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult
  ) {
    requestDidValidateRequestResponseFileURLWithResult?(request, urlRequest, response, fileURL, result)
  }

  /// Called for `request(_:didParseResponse:)` of ``EventMonitor``, for downloads.
  @preconcurrency
  public var requestDidParseDownloadResponse: (@Sendable (DownloadRequest, DownloadResponse<URL?, WeirError>) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }
  public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>) {
    requestDidParseDownloadResponse?(request, response)
  }

  /// Called for `request(_:didParseResponse:)` of ``EventMonitor`` for handlers that serialize the file of a download.
  @preconcurrency
  public var requestDidParseDownloadValue:
    (@Sendable (DownloadRequest, DownloadResponse<any Sendable, WeirError>) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }
  public func request<Value>(
    _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>
  ) {
    requestDidParseDownloadValue?(request, response.map { $0 })
  }

  // MARK: Streams

  /// Called for ``EventMonitor/request(_:didValidateRequest:response:withResult:)``.
  @preconcurrency
  public var requestDidValidateRequestResponseWithResult:
    (@Sendable (DataStreamRequest, URLRequest?, HTTPURLResponse, Request.ValidationResult) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }
  public func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult
  ) {
    requestDidValidateRequestResponseWithResult?(request, urlRequest, response, result)
  }

  /// Called for ``EventMonitor/request(_:didParseStream:)``.
  @preconcurrency
  public var requestDidParseStream: (@Sendable (DataStreamRequest, Result<any Sendable, WeirError>) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>) {
    requestDidParseStream?(request, result.map { $0 })
  }
}
