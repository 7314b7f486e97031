public import Dispatch
public import Foundation
public import FoundationNetworking

/// Hears of everything that happens to a session's or a request's requests. All methods have empty defaults.
///
/// Calls arrive on ``queue``, in the order of the events; with an ``InlineEventMonitor`` on the event loop, at once. A
/// slow monitor delays no request. At each event the request's properties already reflect it.
@preconcurrency
public protocol EventMonitor: Sendable {
  /// Where the methods are called. Default: a private serial queue shared by monitors that don't give one.
  var queue: DispatchQueue { get }
  /// Which callbacks are wanted. Default: all. Read once, when the monitor is added.
  var interests: EventInterests { get }

  // MARK: Session level

  func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?)
  func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64)
  func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest)
  func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics)
  func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?)
  /// Never called; for source compatibility.
  func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask)
  func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse)
  func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data)

  // MARK: Requests of all kinds

  func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest)
  func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError)
  func request(_ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest)
  func request(_ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError)
  func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest)
  func request(_ request: Request, didCreateTask task: TransferTask)
  func request(_ request: Request, didGatherMetrics metrics: TransferMetrics)
  func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError)
  func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?)
  func request(_ request: Request, didResumeTask task: TransferTask)
  func request(_ request: Request, didSuspendTask task: TransferTask)
  func request(_ request: Request, didCancelTask task: TransferTask)
  func requestIsRetrying(_ request: Request)
  func requestDidFinish(_ request: Request)
  func requestDidResume(_ request: Request)
  func requestDidSuspend(_ request: Request)
  func requestDidCancel(_ request: Request)

  // MARK: Data requests

  func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult)
  func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>)
  func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>)

  // MARK: What weir adds

  /// One adapter has answered. `name` is its given name, else its type's; `duration` is in seconds.
  func request(_ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?)
  /// An attempt goes on the wire; its number is the retry count plus one.
  func request(_ request: Request, didStartAttempt number: Int)
  func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?)
  /// A retry was granted and will start after `delay` seconds.
  func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason)
  /// A retry was turned down; at most once per attempt.
  func request(_ request: Request, didDenyRetry denial: RetryDenial)
  /// The outcome is fixed: exactly once per request, after every other event but `didParseResponse`.
  func requestDidSettle(_ request: Request, outcome: RequestOutcome)
  /// Of two groups of interests: ``EventInterests/connections`` and ``EventInterests/connectionUse``.
  func session(_ session: Session, connectionEvent event: ConnectionEvent)
  /// How long a due timer of the event loop waited for its turn, in seconds.
  func session(_ session: Session, loopLag lag: TimeInterval)
}

/// A monitor that is called synchronously on the event loop: nothing is queued for it, and it must not block.
@preconcurrency
public protocol InlineEventMonitor: EventMonitor {}

extension EventMonitor {
  public var queue: DispatchQueue { defaultMonitorQueue }
  public var interests: EventInterests { .all }
}

private let defaultMonitorQueue = DispatchQueue(label: "weir.eventMonitor")
