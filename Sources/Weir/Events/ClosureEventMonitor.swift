public import Dispatch
public import Foundation
public import FoundationNetworking
import Synchronization

/// A monitor made of closures, one for each callback; those that are nil do nothing. They may be set at any time.
public final class ClosureEventMonitor: EventMonitor {
  public let queue: DispatchQueue
  private let closures = Mutex(Closures())

  /// - Parameter queue: Where closures are called; nil: a private serial queue.
  public init(queue: DispatchQueue? = nil) {
    self.queue = queue ?? DispatchQueue(label: "weir.closureEventMonitor")
  }

  /// Apart from the properties, since a Sendable class stores nothing that can be set without a lock.
  private struct Closures {
    var sessionDidBecomeInvalidWithError: (@Sendable (Session, (any Error)?) -> Void)?
    var taskDidReceiveChallenge: (@Sendable (Session, TransferTask, TransferChallenge) -> Void)?
    var taskDidSendBodyData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)?
    var taskWillPerformHTTPRedirection: (@Sendable (Session, TransferTask, HTTPURLResponse, URLRequest) -> Void)?
    var taskDidFinishCollectingMetrics: (@Sendable (Session, TransferTask, TransferMetrics) -> Void)?
    var taskDidComplete: (@Sendable (Session, TransferTask, (any Error)?) -> Void)?
    var taskIsWaitingForConnectivity: (@Sendable (Session, TransferTask) -> Void)?
    var dataTaskDidReceiveResponse: (@Sendable (Session, TransferTask, URLResponse) -> Void)?
    var dataTaskDidReceiveData: (@Sendable (Session, TransferTask, Data) -> Void)?
    var dataTaskWillCacheResponse: (@Sendable (Session, TransferTask, CachedURLResponse) -> Void)?
    var requestDidCreateInitialURLRequest: (@Sendable (Request, URLRequest) -> Void)?
    var requestDidFailToCreateURLRequestWithError: (@Sendable (Request, WeirError) -> Void)?
    var requestDidAdaptInitialRequestToAdaptedRequest: (@Sendable (Request, URLRequest, URLRequest) -> Void)?
    var requestDidFailToAdaptURLRequestWithError: (@Sendable (Request, URLRequest, WeirError) -> Void)?
    var requestDidCreateURLRequest: (@Sendable (Request, URLRequest) -> Void)?
    var requestDidCreateTask: (@Sendable (Request, TransferTask) -> Void)?
    var requestDidGatherMetrics: (@Sendable (Request, TransferMetrics) -> Void)?
    var requestDidFailTaskEarlyWithError: (@Sendable (Request, TransferTask, WeirError) -> Void)?
    var requestDidCompleteTaskWithError: (@Sendable (Request, TransferTask, WeirError?) -> Void)?
    var requestIsRetrying: (@Sendable (Request) -> Void)?
    var requestDidFinish: (@Sendable (Request) -> Void)?
    var requestDidResume: (@Sendable (Request) -> Void)?
    var requestDidResumeTask: (@Sendable (Request, TransferTask) -> Void)?
    var requestDidSuspend: (@Sendable (Request) -> Void)?
    var requestDidSuspendTask: (@Sendable (Request, TransferTask) -> Void)?
    var requestDidCancel: (@Sendable (Request) -> Void)?
    var requestDidCancelTask: (@Sendable (Request, TransferTask) -> Void)?
    var requestDidValidateRequestResponseDataWithResult:
      (@Sendable (DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
    var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, WeirError>) -> Void)?
    var taskNeedNewBodyStream: (@Sendable (Session, TransferTask) -> Void)?
    var requestDidCreateUploadable: (@Sendable (UploadRequest, UploadRequest.Uploadable) -> Void)?
    var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, WeirError) -> Void)?
    var requestDidProvideInputStream: (@Sendable (UploadRequest, InputStream) -> Void)?
    // Downloads
    var downloadTaskDidFinishDownloadingToURL: (@Sendable (Session, TransferTask, URL) -> Void)?
    var downloadTaskDidWriteData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)?
    var downloadTaskDidResumeAtOffset: (@Sendable (Session, TransferTask, Int64, Int64) -> Void)?
    var requestDidFinishDownloadingUsingTaskWithResult:
      (@Sendable (DownloadRequest, TransferTask, Result<URL, WeirError>) -> Void)?
    var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) -> Void)?
    var requestDidValidateRequestResponseFileURLWithResult:
      (@Sendable (DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
    var requestDidParseDownloadResponse: (@Sendable (DownloadRequest, DownloadResponse<URL?, WeirError>) -> Void)?
    var requestDidValidateRequestResponseWithResult:
      (@Sendable (DataStreamRequest, URLRequest?, HTTPURLResponse, Request.ValidationResult) -> Void)?
  }
}

// MARK: - The closures

extension ClosureEventMonitor {
  /// What a closure captured is let go of outside of the lock.
  private func replace<Closure: Sendable>(_ kind: WritableKeyPath<Closures, Closure?>, with closure: Closure?) {
    let replaced = closures.withLock { closures in
      defer { closures[keyPath: kind] = closure }
      return closures[keyPath: kind]
    }
    withExtendedLifetime(replaced) {}
  }

  /// Hears of ``EventMonitor/urlSession(_:didBecomeInvalidWithError:)``.
  @preconcurrency
  public var sessionDidBecomeInvalidWithError: (@Sendable (Session, (any Error)?) -> Void)? {
    get { closures.withLock { $0.sessionDidBecomeInvalidWithError } }
    set { replace(\.sessionDidBecomeInvalidWithError, with: newValue) }
  }

  /// Hears of `urlSession(_:task:didReceive:)` of ``EventMonitor``, for a challenge.
  @preconcurrency
  public var taskDidReceiveChallenge: (@Sendable (Session, TransferTask, TransferChallenge) -> Void)? {
    get { closures.withLock { $0.taskDidReceiveChallenge } }
    set { replace(\.taskDidReceiveChallenge, with: newValue) }
  }

  /// Hears of ``EventMonitor/urlSession(_:task:didSendBodyData:totalBytesSent:totalBytesExpectedToSend:)``.
  @preconcurrency
  public var taskDidSendBodyData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)? {
    get { closures.withLock { $0.taskDidSendBodyData } }
    set { replace(\.taskDidSendBodyData, with: newValue) }
  }

  /// Hears of ``EventMonitor/urlSession(_:task:willPerformHTTPRedirection:newRequest:)``.
  @preconcurrency
  public var taskWillPerformHTTPRedirection: (@Sendable (Session, TransferTask, HTTPURLResponse, URLRequest) -> Void)? {
    get { closures.withLock { $0.taskWillPerformHTTPRedirection } }
    set { replace(\.taskWillPerformHTTPRedirection, with: newValue) }
  }

  /// Hears of ``EventMonitor/urlSession(_:task:didFinishCollecting:)``.
  @preconcurrency
  public var taskDidFinishCollectingMetrics: (@Sendable (Session, TransferTask, TransferMetrics) -> Void)? {
    get { closures.withLock { $0.taskDidFinishCollectingMetrics } }
    set { replace(\.taskDidFinishCollectingMetrics, with: newValue) }
  }

  /// Hears of ``EventMonitor/urlSession(_:task:didCompleteWithError:)``.
  @preconcurrency
  public var taskDidComplete: (@Sendable (Session, TransferTask, (any Error)?) -> Void)? {
    get { closures.withLock { $0.taskDidComplete } }
    set { replace(\.taskDidComplete, with: newValue) }
  }

  /// Hears of ``EventMonitor/urlSession(_:taskIsWaitingForConnectivity:)``.
  @preconcurrency
  public var taskIsWaitingForConnectivity: (@Sendable (Session, TransferTask) -> Void)? {
    get { closures.withLock { $0.taskIsWaitingForConnectivity } }
    set { replace(\.taskIsWaitingForConnectivity, with: newValue) }
  }

  /// Hears of `urlSession(_:dataTask:didReceive:)` of ``EventMonitor``, for the response head.
  @preconcurrency
  public var dataTaskDidReceiveResponse: (@Sendable (Session, TransferTask, URLResponse) -> Void)? {
    get { closures.withLock { $0.dataTaskDidReceiveResponse } }
    set { replace(\.dataTaskDidReceiveResponse, with: newValue) }
  }

  /// Hears of `urlSession(_:dataTask:didReceive:)` of ``EventMonitor``, for pieces of the body.
  @preconcurrency
  public var dataTaskDidReceiveData: (@Sendable (Session, TransferTask, Data) -> Void)? {
    get { closures.withLock { $0.dataTaskDidReceiveData } }
    set { replace(\.dataTaskDidReceiveData, with: newValue) }
  }

  /// Hears of ``EventMonitor/urlSession(_:dataTask:willCacheResponse:)``.
  @preconcurrency
  public var dataTaskWillCacheResponse: (@Sendable (Session, TransferTask, CachedURLResponse) -> Void)? {
    get { closures.withLock { $0.dataTaskWillCacheResponse } }
    set { replace(\.dataTaskWillCacheResponse, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didCreateInitialURLRequest:)``.
  @preconcurrency
  public var requestDidCreateInitialURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
    get { closures.withLock { $0.requestDidCreateInitialURLRequest } }
    set { replace(\.requestDidCreateInitialURLRequest, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didFailToCreateURLRequestWithError:)``.
  @preconcurrency
  public var requestDidFailToCreateURLRequestWithError: (@Sendable (Request, WeirError) -> Void)? {
    get { closures.withLock { $0.requestDidFailToCreateURLRequestWithError } }
    set { replace(\.requestDidFailToCreateURLRequestWithError, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didAdaptInitialRequest:to:)``.
  @preconcurrency
  public var requestDidAdaptInitialRequestToAdaptedRequest: (@Sendable (Request, URLRequest, URLRequest) -> Void)? {
    get { closures.withLock { $0.requestDidAdaptInitialRequestToAdaptedRequest } }
    set { replace(\.requestDidAdaptInitialRequestToAdaptedRequest, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didFailToAdaptURLRequest:withError:)``.
  @preconcurrency
  public var requestDidFailToAdaptURLRequestWithError: (@Sendable (Request, URLRequest, WeirError) -> Void)? {
    get { closures.withLock { $0.requestDidFailToAdaptURLRequestWithError } }
    set { replace(\.requestDidFailToAdaptURLRequestWithError, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didCreateURLRequest:)``.
  @preconcurrency
  public var requestDidCreateURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
    get { closures.withLock { $0.requestDidCreateURLRequest } }
    set { replace(\.requestDidCreateURLRequest, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didCreateTask:)``.
  @preconcurrency
  public var requestDidCreateTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidCreateTask } }
    set { replace(\.requestDidCreateTask, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didGatherMetrics:)``.
  @preconcurrency
  public var requestDidGatherMetrics: (@Sendable (Request, TransferMetrics) -> Void)? {
    get { closures.withLock { $0.requestDidGatherMetrics } }
    set { replace(\.requestDidGatherMetrics, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didFailTask:earlyWithError:)``.
  @preconcurrency
  public var requestDidFailTaskEarlyWithError: (@Sendable (Request, TransferTask, WeirError) -> Void)? {
    get { closures.withLock { $0.requestDidFailTaskEarlyWithError } }
    set { replace(\.requestDidFailTaskEarlyWithError, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didCompleteTask:with:)``.
  @preconcurrency
  public var requestDidCompleteTaskWithError: (@Sendable (Request, TransferTask, WeirError?) -> Void)? {
    get { closures.withLock { $0.requestDidCompleteTaskWithError } }
    set { replace(\.requestDidCompleteTaskWithError, with: newValue) }
  }

  /// Hears of ``EventMonitor/requestIsRetrying(_:)``.
  @preconcurrency
  public var requestIsRetrying: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestIsRetrying } }
    set { replace(\.requestIsRetrying, with: newValue) }
  }

  /// Hears of ``EventMonitor/requestDidFinish(_:)``.
  @preconcurrency
  public var requestDidFinish: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidFinish } }
    set { replace(\.requestDidFinish, with: newValue) }
  }

  /// Hears of ``EventMonitor/requestDidResume(_:)``.
  @preconcurrency
  public var requestDidResume: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidResume } }
    set { replace(\.requestDidResume, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didResumeTask:)``.
  @preconcurrency
  public var requestDidResumeTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidResumeTask } }
    set { replace(\.requestDidResumeTask, with: newValue) }
  }

  /// Hears of ``EventMonitor/requestDidSuspend(_:)``.
  @preconcurrency
  public var requestDidSuspend: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidSuspend } }
    set { replace(\.requestDidSuspend, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didSuspendTask:)``.
  @preconcurrency
  public var requestDidSuspendTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidSuspendTask } }
    set { replace(\.requestDidSuspendTask, with: newValue) }
  }

  /// Hears of ``EventMonitor/requestDidCancel(_:)``.
  @preconcurrency
  public var requestDidCancel: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidCancel } }
    set { replace(\.requestDidCancel, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didCancelTask:)``.
  @preconcurrency
  public var requestDidCancelTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidCancelTask } }
    set { replace(\.requestDidCancelTask, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didValidateRequest:response:data:withResult:)``.
  @preconcurrency
  public var requestDidValidateRequestResponseDataWithResult:
    (@Sendable (DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
  {
    get { closures.withLock { $0.requestDidValidateRequestResponseDataWithResult } }
    set { replace(\.requestDidValidateRequestResponseDataWithResult, with: newValue) }
  }

  /// Hears of `request(_:didParseResponse:)` of ``EventMonitor`` for handlers that take the body as it is; serialized
  /// values have no closure.
  @preconcurrency
  public var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, WeirError>) -> Void)? {
    get { closures.withLock { $0.requestDidParseResponse } }
    set { replace(\.requestDidParseResponse, with: newValue) }
  }

  // MARK: Uploads

  /// Hears of ``EventMonitor/urlSession(_:taskNeedsNewBodyStream:)``.
  @preconcurrency
  public var taskNeedNewBodyStream: (@Sendable (Session, TransferTask) -> Void)? {
    get { closures.withLock { $0.taskNeedNewBodyStream } }
    set { replace(\.taskNeedNewBodyStream, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didCreateUploadable:)``.
  @preconcurrency
  public var requestDidCreateUploadable: (@Sendable (UploadRequest, UploadRequest.Uploadable) -> Void)? {
    get { closures.withLock { $0.requestDidCreateUploadable } }
    set { replace(\.requestDidCreateUploadable, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didFailToCreateUploadableWithError:)``.
  @preconcurrency
  public var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, WeirError) -> Void)? {
    get { closures.withLock { $0.requestDidFailToCreateUploadableWithError } }
    set { replace(\.requestDidFailToCreateUploadableWithError, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didProvideInputStream:)``.
  @preconcurrency
  public var requestDidProvideInputStream: (@Sendable (UploadRequest, InputStream) -> Void)? {
    get { closures.withLock { $0.requestDidProvideInputStream } }
    set { replace(\.requestDidProvideInputStream, with: newValue) }
  }
}

// MARK: - Downloads

extension ClosureEventMonitor {
  /// Hears of ``EventMonitor/urlSession(_:downloadTask:didFinishDownloadingTo:)``.
  @preconcurrency
  public var downloadTaskDidFinishDownloadingToURL: (@Sendable (Session, TransferTask, URL) -> Void)? {
    get { closures.withLock { $0.downloadTaskDidFinishDownloadingToURL } }
    set { replace(\.downloadTaskDidFinishDownloadingToURL, with: newValue) }
  }

  /// Hears of ``EventMonitor/urlSession(_:downloadTask:didWriteData:totalBytesWritten:totalBytesExpectedToWrite:)``.
  @preconcurrency
  public var downloadTaskDidWriteData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)? {
    get { closures.withLock { $0.downloadTaskDidWriteData } }
    set { replace(\.downloadTaskDidWriteData, with: newValue) }
  }

  /// Hears of ``EventMonitor/urlSession(_:downloadTask:didResumeAtOffset:expectedTotalBytes:)``.
  @preconcurrency
  public var downloadTaskDidResumeAtOffset: (@Sendable (Session, TransferTask, Int64, Int64) -> Void)? {
    get { closures.withLock { $0.downloadTaskDidResumeAtOffset } }
    set { replace(\.downloadTaskDidResumeAtOffset, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didFinishDownloadingUsing:with:)``.
  @preconcurrency
  public var requestDidFinishDownloadingUsingTaskWithResult:
    (@Sendable (DownloadRequest, TransferTask, Result<URL, WeirError>) -> Void)?
  {
    get { closures.withLock { $0.requestDidFinishDownloadingUsingTaskWithResult } }
    set { replace(\.requestDidFinishDownloadingUsingTaskWithResult, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didCreateDestinationURL:)``.
  @preconcurrency
  public var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) -> Void)? {
    get { closures.withLock { $0.requestDidCreateDestinationURL } }
    set { replace(\.requestDidCreateDestinationURL, with: newValue) }
  }

  /// Hears of ``EventMonitor/request(_:didValidateRequest:response:fileURL:withResult:)``.
  @preconcurrency
  public var requestDidValidateRequestResponseFileURLWithResult:
    (@Sendable (DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
  {
    get { closures.withLock { $0.requestDidValidateRequestResponseFileURLWithResult } }
    set { replace(\.requestDidValidateRequestResponseFileURLWithResult, with: newValue) }
  }

  /// Hears of `request(_:didParseResponse:)` of ``EventMonitor``, for downloads.
  @preconcurrency
  public var requestDidParseDownloadResponse: (@Sendable (DownloadRequest, DownloadResponse<URL?, WeirError>) -> Void)?
  {
    get { closures.withLock { $0.requestDidParseDownloadResponse } }
    set { replace(\.requestDidParseDownloadResponse, with: newValue) }
  }
}

// MARK: - Streams

extension ClosureEventMonitor {
  /// Hears of ``EventMonitor/request(_:didValidateRequest:response:withResult:)``.
  @preconcurrency
  public var requestDidValidateRequestResponseWithResult:
    (@Sendable (DataStreamRequest, URLRequest?, HTTPURLResponse, Request.ValidationResult) -> Void)?
  {
    get { closures.withLock { $0.requestDidValidateRequestResponseWithResult } }
    set { replace(\.requestDidValidateRequestResponseWithResult, with: newValue) }
  }
}
