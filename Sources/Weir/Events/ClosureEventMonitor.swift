public import Dispatch
import Synchronization

/// A monitor made of closures, one for each callback. A closure that is nil does nothing. Closures may be set at any
/// time.
public final class ClosureEventMonitor: EventMonitor {
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

  // MARK: Session level

  // Each closure is followed by the callback that calls it.

  /// Called for ``EventMonitor/urlSession(_:didBecomeInvalidWithError:)``.
  @preconcurrency
  public var sessionDidBecomeInvalidWithError: (@Sendable (Session, (any Error)?) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {
    sessionDidBecomeInvalidWithError?(session, error)
  }

  /// Called for ``EventMonitor/urlSession(_:task:didSendBodyData:totalBytesSent:totalBytesExpectedToSend:)``.
  @preconcurrency
  public var taskDidSendBodyData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    taskDidSendBodyData?(session, task, bytesSent, totalBytesSent, totalBytesExpectedToSend)
  }

  /// Called for ``EventMonitor/urlSession(_:task:willPerformHTTPRedirection:newRequest:)``.
  @preconcurrency
  public var taskWillPerformHTTPRedirection: (@Sendable (Session, TransferTask, HTTPURLResponse, URLRequest) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {
    taskWillPerformHTTPRedirection?(session, task, response, request)
  }

  /// Called for `urlSession(_:task:didReceive:)` of ``EventMonitor``, for a challenge.
  @preconcurrency
  public var taskDidReceiveChallenge: (@Sendable (Session, TransferTask, TransferChallenge) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge) {
    taskDidReceiveChallenge?(session, task, challenge)
  }

  /// Called for ``EventMonitor/urlSession(_:task:didFinishCollecting:)``.
  @preconcurrency
  public var taskDidFinishCollectingMetrics: (@Sendable (Session, TransferTask, TransferMetrics) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {
    taskDidFinishCollectingMetrics?(session, task, metrics)
  }

  /// Called for ``EventMonitor/urlSession(_:task:didCompleteWithError:)``.
  @preconcurrency
  public var taskDidComplete: (@Sendable (Session, TransferTask, (any Error)?) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {
    taskDidComplete?(session, task, error)
  }

  /// Called for ``EventMonitor/urlSession(_:taskIsWaitingForConnectivity:)``.
  @preconcurrency
  public var taskIsWaitingForConnectivity: (@Sendable (Session, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask) {
    taskIsWaitingForConnectivity?(session, task)
  }

  /// Called for `urlSession(_:dataTask:didReceive:)` of ``EventMonitor``, for the response head.
  @preconcurrency
  public var dataTaskDidReceiveResponse: (@Sendable (Session, TransferTask, URLResponse) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {
    dataTaskDidReceiveResponse?(session, dataTask, response)
  }

  /// Called for `urlSession(_:dataTask:didReceive:)` of ``EventMonitor``, for pieces of the body.
  @preconcurrency
  public var dataTaskDidReceiveData: (@Sendable (Session, TransferTask, Data) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {
    dataTaskDidReceiveData?(session, dataTask, data)
  }

  /// Called for ``EventMonitor/urlSession(_:dataTask:willCacheResponse:)``.
  @preconcurrency
  public var dataTaskWillCacheResponse: (@Sendable (Session, TransferTask, CachedURLResponse) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse) {
    dataTaskWillCacheResponse?(session, dataTask, response)
  }

  /// Called for ``EventMonitor/urlSession(_:taskNeedsNewBodyStream:)``.
  @preconcurrency
  public var taskNeedNewBodyStream: (@Sendable (Session, TransferTask) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask) {
    taskNeedNewBodyStream?(session, task)
  }

  /// Called for ``EventMonitor/urlSession(_:downloadTask:didResumeAtOffset:expectedTotalBytes:)``.
  @preconcurrency
  public var downloadTaskDidResumeAtOffset: (@Sendable (Session, TransferTask, Int64, Int64) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
  ) {
    downloadTaskDidResumeAtOffset?(session, downloadTask, fileOffset, expectedTotalBytes)
  }

  /// Called for ``EventMonitor/urlSession(_:downloadTask:didWriteData:totalBytesWritten:totalBytesExpectedToWrite:)``.
  @preconcurrency
  public var downloadTaskDidWriteData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64
  ) {
    downloadTaskDidWriteData?(session, downloadTask, bytesWritten, totalBytesWritten, totalBytesExpectedToWrite)
  }

  /// Called for ``EventMonitor/urlSession(_:downloadTask:didFinishDownloadingTo:)``.
  @preconcurrency
  public var downloadTaskDidFinishDownloadingToURL: (@Sendable (Session, TransferTask, URL) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
  public func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL) {
    downloadTaskDidFinishDownloadingToURL?(session, downloadTask, location)
  }
}
