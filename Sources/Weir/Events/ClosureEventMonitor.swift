public import Dispatch
import Synchronization

/// A monitor made of closures, one for each callback. A closure that is nil does nothing. Closures may be set at any
/// time.
public final class ClosureEventMonitor: EventMonitor, UniformEventMonitor {
  public let queue: DispatchQueue
  /// The closures, keyed by the names of their properties. Few monitors have more than two or three.
  private let closures = Mutex<[String: any Sendable]>([:])

  /// - Parameter queue: The queue on which the closures are called; nil means a private serial queue.
  public init(queue: DispatchQueue? = nil) {
    self.queue = queue ?? DispatchQueue(label: "weir.closureEventMonitor")
  }

  /// The closure that was set for a property.
  func closure<Closure: Sendable>(of property: String = #function) -> Closure? {
    closures.withLock { $0[property] } as? Closure
  }

  /// Sets a property's closure. The former one's captures are released outside of the lock.
  func set<Closure: Sendable>(_ closure: Closure?, of property: String = #function) {
    let replaced = closures.withLock { closures in
      defer { closures[property] = closure }
      return closures[property]
    }
    withExtendedLifetime(replaced) {}
  }

  func handle<Arguments: Sendable>(
    _ interest: EventInterests, _ arguments: Arguments,
    _ event: @escaping @Sendable (any EventMonitor, Arguments) -> Void,
    _ closure: (ClosureEventMonitor) -> Void, _ line: (LoggingEventMonitor) -> Void
  ) {
    closure(self)
  }

  // MARK: Session level

  /// Called for ``EventMonitor/urlSession(_:didBecomeInvalidWithError:)``.
  @preconcurrency
  public var sessionDidBecomeInvalidWithError: (@Sendable (Session, (any Error)?) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/urlSession(_:task:didSendBodyData:totalBytesSent:totalBytesExpectedToSend:)``.
  @preconcurrency
  public var taskDidSendBodyData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/urlSession(_:task:willPerformHTTPRedirection:newRequest:)``.
  @preconcurrency
  public var taskWillPerformHTTPRedirection: (@Sendable (Session, TransferTask, HTTPURLResponse, URLRequest) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for `urlSession(_:task:didReceive:)` of ``EventMonitor``, for a challenge.
  @preconcurrency
  public var taskDidReceiveChallenge: (@Sendable (Session, TransferTask, TransferChallenge) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/urlSession(_:task:didFinishCollecting:)``.
  @preconcurrency
  public var taskDidFinishCollectingMetrics: (@Sendable (Session, TransferTask, TransferMetrics) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/urlSession(_:task:didCompleteWithError:)``.
  @preconcurrency
  public var taskDidComplete: (@Sendable (Session, TransferTask, (any Error)?) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/urlSession(_:taskIsWaitingForConnectivity:)``.
  @preconcurrency
  public var taskIsWaitingForConnectivity: (@Sendable (Session, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for `urlSession(_:dataTask:didReceive:)` of ``EventMonitor``, for the response head.
  @preconcurrency
  public var dataTaskDidReceiveResponse: (@Sendable (Session, TransferTask, URLResponse) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for `urlSession(_:dataTask:didReceive:)` of ``EventMonitor``, for pieces of the body.
  @preconcurrency
  public var dataTaskDidReceiveData: (@Sendable (Session, TransferTask, Data) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/urlSession(_:dataTask:willCacheResponse:)``.
  @preconcurrency
  public var dataTaskWillCacheResponse: (@Sendable (Session, TransferTask, CachedURLResponse) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/urlSession(_:taskNeedsNewBodyStream:)``.
  @preconcurrency
  public var taskNeedNewBodyStream: (@Sendable (Session, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/urlSession(_:downloadTask:didResumeAtOffset:expectedTotalBytes:)``.
  @preconcurrency
  public var downloadTaskDidResumeAtOffset: (@Sendable (Session, TransferTask, Int64, Int64) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/urlSession(_:downloadTask:didWriteData:totalBytesWritten:totalBytesExpectedToWrite:)``.
  @preconcurrency
  public var downloadTaskDidWriteData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/urlSession(_:downloadTask:didFinishDownloadingTo:)``.
  @preconcurrency
  public var downloadTaskDidFinishDownloadingToURL: (@Sendable (Session, TransferTask, URL) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  // MARK: Requests of all kinds

  /// Called for ``EventMonitor/request(_:didCreateInitialURLRequest:)``.
  @preconcurrency
  public var requestDidCreateInitialURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didFailToCreateURLRequestWithError:)``.
  @preconcurrency
  public var requestDidFailToCreateURLRequestWithError: (@Sendable (Request, WeirError) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didAdaptInitialRequest:to:)``.
  @preconcurrency
  public var requestDidAdaptInitialRequestToAdaptedRequest: (@Sendable (Request, URLRequest, URLRequest) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didFailToAdaptURLRequest:withError:)``.
  @preconcurrency
  public var requestDidFailToAdaptURLRequestWithError: (@Sendable (Request, URLRequest, WeirError) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didCreateURLRequest:)``.
  @preconcurrency
  public var requestDidCreateURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didCreateTask:)``.
  @preconcurrency
  public var requestDidCreateTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didGatherMetrics:)``.
  @preconcurrency
  public var requestDidGatherMetrics: (@Sendable (Request, TransferMetrics) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didFailTask:earlyWithError:)``.
  @preconcurrency
  public var requestDidFailTaskEarlyWithError: (@Sendable (Request, TransferTask, WeirError) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didCompleteTask:with:)``.
  @preconcurrency
  public var requestDidCompleteTaskWithError: (@Sendable (Request, TransferTask, WeirError?) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didResumeTask:)``.
  @preconcurrency
  public var requestDidResumeTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didSuspendTask:)``.
  @preconcurrency
  public var requestDidSuspendTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didCancelTask:)``.
  @preconcurrency
  public var requestDidCancelTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/requestIsRetrying(_:)``.
  @preconcurrency
  public var requestIsRetrying: (@Sendable (Request) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/requestDidFinish(_:)``.
  @preconcurrency
  public var requestDidFinish: (@Sendable (Request) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/requestDidResume(_:)``.
  @preconcurrency
  public var requestDidResume: (@Sendable (Request) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/requestDidSuspend(_:)``.
  @preconcurrency
  public var requestDidSuspend: (@Sendable (Request) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/requestDidCancel(_:)``.
  @preconcurrency
  public var requestDidCancel: (@Sendable (Request) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  // MARK: Data requests

  /// Called for ``EventMonitor/request(_:didValidateRequest:response:data:withResult:)``.
  @preconcurrency
  public var requestDidValidateRequestResponseDataWithResult:
    (@Sendable (DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for `request(_:didParseResponse:)` of ``EventMonitor``, for handlers that take the body as it is.
  @preconcurrency
  public var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, WeirError>) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for `request(_:didParseResponse:)` of ``EventMonitor`` for handlers that serialize the body.
  @preconcurrency
  public var requestDidParseValue: (@Sendable (DataRequest, DataResponse<any Sendable, WeirError>) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  // MARK: Uploads

  /// Called for ``EventMonitor/request(_:didCreateUploadable:)``.
  @preconcurrency
  public var requestDidCreateUploadable: (@Sendable (UploadRequest, UploadRequest.Uploadable) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didFailToCreateUploadableWithError:)``.
  @preconcurrency
  public var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, WeirError) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didProvideInputStream:)``.
  @preconcurrency
  public var requestDidProvideInputStream: (@Sendable (UploadRequest, InputStream) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  // MARK: Downloads

  /// Called for ``EventMonitor/request(_:didCreateDestinationURL:)``.
  @preconcurrency
  public var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didFinishDownloadingUsing:with:)``.
  @preconcurrency
  public var requestDidFinishDownloadingUsingTaskWithResult:
    (@Sendable (DownloadRequest, TransferTask, Result<URL, WeirError>) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didValidateRequest:response:fileURL:withResult:)``.
  @preconcurrency
  public var requestDidValidateRequestResponseFileURLWithResult:
    (@Sendable (DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for `request(_:didParseResponse:)` of ``EventMonitor``, for downloads.
  @preconcurrency
  public var requestDidParseDownloadResponse: (@Sendable (DownloadRequest, DownloadResponse<URL?, WeirError>) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for `request(_:didParseResponse:)` of ``EventMonitor`` for handlers that serialize the file of a download.
  @preconcurrency
  public var requestDidParseDownloadValue:
    (@Sendable (DownloadRequest, DownloadResponse<any Sendable, WeirError>) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
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

  /// Called for ``EventMonitor/request(_:didParseStream:)``.
  @preconcurrency
  public var requestDidParseStream: (@Sendable (DataStreamRequest, Result<any Sendable, WeirError>) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
}
