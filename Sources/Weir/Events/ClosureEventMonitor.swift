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

  private struct Closures {
    var sessionDidBecomeInvalidWithError: (@Sendable (Session, (any Error)?) -> Void)?
    var taskDidSendBodyData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)?
    var taskWillPerformHTTPRedirection: (@Sendable (Session, TransferTask, HTTPURLResponse, URLRequest) -> Void)?
    var taskDidFinishCollectingMetrics: (@Sendable (Session, TransferTask, TransferMetrics) -> Void)?
    var taskDidComplete: (@Sendable (Session, TransferTask, (any Error)?) -> Void)?
    var taskIsWaitingForConnectivity: (@Sendable (Session, TransferTask) -> Void)?
    var dataTaskDidReceiveResponse: (@Sendable (Session, TransferTask, URLResponse) -> Void)?
    var dataTaskDidReceiveData: (@Sendable (Session, TransferTask, Data) -> Void)?
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
  }
}

// MARK: - The closures

extension ClosureEventMonitor {
  public var sessionDidBecomeInvalidWithError: (@Sendable (Session, (any Error)?) -> Void)? {
    get { closures.withLock { $0.sessionDidBecomeInvalidWithError } }
    set { closures.withLock { $0.sessionDidBecomeInvalidWithError = newValue } }
  }

  public var taskDidSendBodyData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)? {
    get { closures.withLock { $0.taskDidSendBodyData } }
    set { closures.withLock { $0.taskDidSendBodyData = newValue } }
  }

  public var taskWillPerformHTTPRedirection: (@Sendable (Session, TransferTask, HTTPURLResponse, URLRequest) -> Void)? {
    get { closures.withLock { $0.taskWillPerformHTTPRedirection } }
    set { closures.withLock { $0.taskWillPerformHTTPRedirection = newValue } }
  }

  public var taskDidFinishCollectingMetrics: (@Sendable (Session, TransferTask, TransferMetrics) -> Void)? {
    get { closures.withLock { $0.taskDidFinishCollectingMetrics } }
    set { closures.withLock { $0.taskDidFinishCollectingMetrics = newValue } }
  }

  public var taskDidComplete: (@Sendable (Session, TransferTask, (any Error)?) -> Void)? {
    get { closures.withLock { $0.taskDidComplete } }
    set { closures.withLock { $0.taskDidComplete = newValue } }
  }

  public var taskIsWaitingForConnectivity: (@Sendable (Session, TransferTask) -> Void)? {
    get { closures.withLock { $0.taskIsWaitingForConnectivity } }
    set { closures.withLock { $0.taskIsWaitingForConnectivity = newValue } }
  }

  public var dataTaskDidReceiveResponse: (@Sendable (Session, TransferTask, URLResponse) -> Void)? {
    get { closures.withLock { $0.dataTaskDidReceiveResponse } }
    set { closures.withLock { $0.dataTaskDidReceiveResponse = newValue } }
  }

  public var dataTaskDidReceiveData: (@Sendable (Session, TransferTask, Data) -> Void)? {
    get { closures.withLock { $0.dataTaskDidReceiveData } }
    set { closures.withLock { $0.dataTaskDidReceiveData = newValue } }
  }

  public var requestDidCreateInitialURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
    get { closures.withLock { $0.requestDidCreateInitialURLRequest } }
    set { closures.withLock { $0.requestDidCreateInitialURLRequest = newValue } }
  }

  public var requestDidFailToCreateURLRequestWithError: (@Sendable (Request, WeirError) -> Void)? {
    get { closures.withLock { $0.requestDidFailToCreateURLRequestWithError } }
    set { closures.withLock { $0.requestDidFailToCreateURLRequestWithError = newValue } }
  }

  public var requestDidAdaptInitialRequestToAdaptedRequest: (@Sendable (Request, URLRequest, URLRequest) -> Void)? {
    get { closures.withLock { $0.requestDidAdaptInitialRequestToAdaptedRequest } }
    set { closures.withLock { $0.requestDidAdaptInitialRequestToAdaptedRequest = newValue } }
  }

  public var requestDidFailToAdaptURLRequestWithError: (@Sendable (Request, URLRequest, WeirError) -> Void)? {
    get { closures.withLock { $0.requestDidFailToAdaptURLRequestWithError } }
    set { closures.withLock { $0.requestDidFailToAdaptURLRequestWithError = newValue } }
  }

  public var requestDidCreateURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
    get { closures.withLock { $0.requestDidCreateURLRequest } }
    set { closures.withLock { $0.requestDidCreateURLRequest = newValue } }
  }

  public var requestDidCreateTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidCreateTask } }
    set { closures.withLock { $0.requestDidCreateTask = newValue } }
  }

  public var requestDidGatherMetrics: (@Sendable (Request, TransferMetrics) -> Void)? {
    get { closures.withLock { $0.requestDidGatherMetrics } }
    set { closures.withLock { $0.requestDidGatherMetrics = newValue } }
  }

  public var requestDidFailTaskEarlyWithError: (@Sendable (Request, TransferTask, WeirError) -> Void)? {
    get { closures.withLock { $0.requestDidFailTaskEarlyWithError } }
    set { closures.withLock { $0.requestDidFailTaskEarlyWithError = newValue } }
  }

  public var requestDidCompleteTaskWithError: (@Sendable (Request, TransferTask, WeirError?) -> Void)? {
    get { closures.withLock { $0.requestDidCompleteTaskWithError } }
    set { closures.withLock { $0.requestDidCompleteTaskWithError = newValue } }
  }

  public var requestIsRetrying: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestIsRetrying } }
    set { closures.withLock { $0.requestIsRetrying = newValue } }
  }

  public var requestDidFinish: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidFinish } }
    set { closures.withLock { $0.requestDidFinish = newValue } }
  }

  public var requestDidResume: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidResume } }
    set { closures.withLock { $0.requestDidResume = newValue } }
  }

  public var requestDidResumeTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidResumeTask } }
    set { closures.withLock { $0.requestDidResumeTask = newValue } }
  }

  public var requestDidSuspend: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidSuspend } }
    set { closures.withLock { $0.requestDidSuspend = newValue } }
  }

  public var requestDidSuspendTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidSuspendTask } }
    set { closures.withLock { $0.requestDidSuspendTask = newValue } }
  }

  public var requestDidCancel: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidCancel } }
    set { closures.withLock { $0.requestDidCancel = newValue } }
  }

  public var requestDidCancelTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidCancelTask } }
    set { closures.withLock { $0.requestDidCancelTask = newValue } }
  }

  public var requestDidValidateRequestResponseDataWithResult:
    (@Sendable (DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
  {
    get { closures.withLock { $0.requestDidValidateRequestResponseDataWithResult } }
    set { closures.withLock { $0.requestDidValidateRequestResponseDataWithResult = newValue } }
  }

  public var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, WeirError>) -> Void)? {
    get { closures.withLock { $0.requestDidParseResponse } }
    set { closures.withLock { $0.requestDidParseResponse = newValue } }
  }
}
