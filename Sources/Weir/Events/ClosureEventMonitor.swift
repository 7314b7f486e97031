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
  /// What a closure captured is let go of outside of the lock.
  private func replace<Closure: Sendable>(_ kind: WritableKeyPath<Closures, Closure?>, with closure: Closure?) {
    let replaced = closures.withLock { closures in
      defer { closures[keyPath: kind] = closure }
      return closures[keyPath: kind]
    }
    withExtendedLifetime(replaced) {}
  }

  @preconcurrency
  public var sessionDidBecomeInvalidWithError: (@Sendable (Session, (any Error)?) -> Void)? {
    get { closures.withLock { $0.sessionDidBecomeInvalidWithError } }
    set { replace(\.sessionDidBecomeInvalidWithError, with: newValue) }
  }

  @preconcurrency
  public var taskDidSendBodyData: (@Sendable (Session, TransferTask, Int64, Int64, Int64) -> Void)? {
    get { closures.withLock { $0.taskDidSendBodyData } }
    set { replace(\.taskDidSendBodyData, with: newValue) }
  }

  @preconcurrency
  public var taskWillPerformHTTPRedirection: (@Sendable (Session, TransferTask, HTTPURLResponse, URLRequest) -> Void)? {
    get { closures.withLock { $0.taskWillPerformHTTPRedirection } }
    set { replace(\.taskWillPerformHTTPRedirection, with: newValue) }
  }

  @preconcurrency
  public var taskDidFinishCollectingMetrics: (@Sendable (Session, TransferTask, TransferMetrics) -> Void)? {
    get { closures.withLock { $0.taskDidFinishCollectingMetrics } }
    set { replace(\.taskDidFinishCollectingMetrics, with: newValue) }
  }

  @preconcurrency
  public var taskDidComplete: (@Sendable (Session, TransferTask, (any Error)?) -> Void)? {
    get { closures.withLock { $0.taskDidComplete } }
    set { replace(\.taskDidComplete, with: newValue) }
  }

  @preconcurrency
  public var taskIsWaitingForConnectivity: (@Sendable (Session, TransferTask) -> Void)? {
    get { closures.withLock { $0.taskIsWaitingForConnectivity } }
    set { replace(\.taskIsWaitingForConnectivity, with: newValue) }
  }

  @preconcurrency
  public var dataTaskDidReceiveResponse: (@Sendable (Session, TransferTask, URLResponse) -> Void)? {
    get { closures.withLock { $0.dataTaskDidReceiveResponse } }
    set { replace(\.dataTaskDidReceiveResponse, with: newValue) }
  }

  @preconcurrency
  public var dataTaskDidReceiveData: (@Sendable (Session, TransferTask, Data) -> Void)? {
    get { closures.withLock { $0.dataTaskDidReceiveData } }
    set { replace(\.dataTaskDidReceiveData, with: newValue) }
  }

  @preconcurrency
  public var requestDidCreateInitialURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
    get { closures.withLock { $0.requestDidCreateInitialURLRequest } }
    set { replace(\.requestDidCreateInitialURLRequest, with: newValue) }
  }

  @preconcurrency
  public var requestDidFailToCreateURLRequestWithError: (@Sendable (Request, WeirError) -> Void)? {
    get { closures.withLock { $0.requestDidFailToCreateURLRequestWithError } }
    set { replace(\.requestDidFailToCreateURLRequestWithError, with: newValue) }
  }

  @preconcurrency
  public var requestDidAdaptInitialRequestToAdaptedRequest: (@Sendable (Request, URLRequest, URLRequest) -> Void)? {
    get { closures.withLock { $0.requestDidAdaptInitialRequestToAdaptedRequest } }
    set { replace(\.requestDidAdaptInitialRequestToAdaptedRequest, with: newValue) }
  }

  @preconcurrency
  public var requestDidFailToAdaptURLRequestWithError: (@Sendable (Request, URLRequest, WeirError) -> Void)? {
    get { closures.withLock { $0.requestDidFailToAdaptURLRequestWithError } }
    set { replace(\.requestDidFailToAdaptURLRequestWithError, with: newValue) }
  }

  @preconcurrency
  public var requestDidCreateURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
    get { closures.withLock { $0.requestDidCreateURLRequest } }
    set { replace(\.requestDidCreateURLRequest, with: newValue) }
  }

  @preconcurrency
  public var requestDidCreateTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidCreateTask } }
    set { replace(\.requestDidCreateTask, with: newValue) }
  }

  @preconcurrency
  public var requestDidGatherMetrics: (@Sendable (Request, TransferMetrics) -> Void)? {
    get { closures.withLock { $0.requestDidGatherMetrics } }
    set { replace(\.requestDidGatherMetrics, with: newValue) }
  }

  @preconcurrency
  public var requestDidFailTaskEarlyWithError: (@Sendable (Request, TransferTask, WeirError) -> Void)? {
    get { closures.withLock { $0.requestDidFailTaskEarlyWithError } }
    set { replace(\.requestDidFailTaskEarlyWithError, with: newValue) }
  }

  @preconcurrency
  public var requestDidCompleteTaskWithError: (@Sendable (Request, TransferTask, WeirError?) -> Void)? {
    get { closures.withLock { $0.requestDidCompleteTaskWithError } }
    set { replace(\.requestDidCompleteTaskWithError, with: newValue) }
  }

  @preconcurrency
  public var requestIsRetrying: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestIsRetrying } }
    set { replace(\.requestIsRetrying, with: newValue) }
  }

  @preconcurrency
  public var requestDidFinish: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidFinish } }
    set { replace(\.requestDidFinish, with: newValue) }
  }

  @preconcurrency
  public var requestDidResume: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidResume } }
    set { replace(\.requestDidResume, with: newValue) }
  }

  @preconcurrency
  public var requestDidResumeTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidResumeTask } }
    set { replace(\.requestDidResumeTask, with: newValue) }
  }

  @preconcurrency
  public var requestDidSuspend: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidSuspend } }
    set { replace(\.requestDidSuspend, with: newValue) }
  }

  @preconcurrency
  public var requestDidSuspendTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidSuspendTask } }
    set { replace(\.requestDidSuspendTask, with: newValue) }
  }

  @preconcurrency
  public var requestDidCancel: (@Sendable (Request) -> Void)? {
    get { closures.withLock { $0.requestDidCancel } }
    set { replace(\.requestDidCancel, with: newValue) }
  }

  @preconcurrency
  public var requestDidCancelTask: (@Sendable (Request, TransferTask) -> Void)? {
    get { closures.withLock { $0.requestDidCancelTask } }
    set { replace(\.requestDidCancelTask, with: newValue) }
  }

  @preconcurrency
  public var requestDidValidateRequestResponseDataWithResult:
    (@Sendable (DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
  {
    get { closures.withLock { $0.requestDidValidateRequestResponseDataWithResult } }
    set { replace(\.requestDidValidateRequestResponseDataWithResult, with: newValue) }
  }

  @preconcurrency
  public var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, WeirError>) -> Void)? {
    get { closures.withLock { $0.requestDidParseResponse } }
    set { replace(\.requestDidParseResponse, with: newValue) }
  }
}
