public import Dispatch

/// Observes everything that happens to the requests of a session, or to one request. All methods have empty defaults.
///
/// Calls arrive on ``queue``, in the order of the events; an ``InlineEventMonitor`` is called at once on the event
/// loop. A slow monitor delays no request. The request's properties already reflect each event when it arrives.
///
/// A session's monitors are called for all its requests, before the monitors of the request itself
/// (``Request/eventMonitor(_:)``). A request's own monitors don't get the session-level events.
@preconcurrency
public protocol EventMonitor: Sendable {
  /// The queue on which the methods are called. Default: a private serial queue, shared by all monitors that don't set
  /// one.
  var queue: DispatchQueue { get }
  /// The groups of callbacks that the monitor wants. Default: all. Read once, when the monitor is added.
  var interests: EventInterests { get }
  /// The sampler of a monitor that exports the spans of ``AttemptRecord``s; default: nil, for one that exports none. Read
  /// once, when the monitor is added; the first one of a request's monitors counts.
  ///
  /// With a sampler each recorded attempt goes on with the identifier of a span of its own. If
  /// ``SessionConfiguration/traceContext`` gives no context, a trace begins with the request
  /// (``Request/recordedTrace``). Attempts that are not recorded go on with the context unchanged.
  var traceSampler: TraceSampler? { get }

  // MARK: Session level

  /// The session takes no more requests, and unfinished ones end now.
  ///
  /// `error`: The error given to ``Session/invalidateAndCancel(error:)``; nil if the last reference to the session went
  /// or its last active request has ended.
  func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?)
  /// Bytes of a request's body were sent. `bytesSent` counts those since the last call; the total expected is −1 if
  /// unknown.
  func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64)
  /// A response redirects. Called before the ``RedirectHandler``, with the proposed request.
  func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest)
  /// A server or proxy demands credentials by Basic or Digest, with a 401 or 407. Called whether the challenge is
  /// answered or delivered.
  func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge)
  /// The task's transfer has ended and is measured. Called once per task, also if the transfer failed or was cancelled.
  func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics)
  /// The task's transfer has ended. The error is the `URLError` that ended it, or nil; validation is yet to come.
  func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?)
  /// Never called; it exists for source compatibility.
  func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask)
  /// The final response head, an `HTTPURLResponse`, has come. Not called for followed redirects and 1xx.
  func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse)
  /// A piece of the body has come, decoded.
  func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data)

  /// A response may be stored in ``SessionConfiguration/urlCache``. Called before the ``CachedResponseHandler``.
  func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse)

  // MARK: Requests of all kinds

  /// The convertible gave a URL request, which adapters have not changed yet. Called once per attempt.
  func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest)
  /// The convertible, a modifier or an encoder failed, or gave a request that is not valid. No task is made.
  func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError)
  /// All adapters have answered. Not called if there are none.
  func request(_ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest)
  /// An adapter failed, or returned a request that is not valid. No task is made.
  func request(_ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError)
  /// The URL request that goes on the wire is complete.
  func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest)
  /// The attempt has its task, which is not started yet.
  func request(_ request: Request, didCreateTask task: TransferTask)
  /// The attempt was measured; its metrics are in ``Request/allMetrics``.
  func request(_ request: Request, didGatherMetrics metrics: TransferMetrics)
  /// The task fails because its server does not meet the trust requirements of an evaluator.
  func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError)
  /// The task is over and validated. The error is the transfer's alone: it is nil if only the validation failed.
  func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?)
  /// The task was started, or goes on after a suspension.
  func request(_ request: Request, didResumeTask task: TransferTask)
  /// The task was paused during its transfer, or was made for a suspended request.
  func request(_ request: Request, didSuspendTask task: TransferTask)
  /// The task was cancelled with its request; its metrics and its completion follow.
  func request(_ request: Request, didCancelTask task: TransferTask)
  /// Another attempt begins; ``Request/retryCount`` includes it. Called after the delay.
  func requestIsRetrying(_ request: Request)
  /// The last attempt is over and no retrier wants another; serializers are yet to run. Called again if the failure of
  /// a serializer led to a retry.
  func requestDidFinish(_ request: Request)
  /// ``Request/resume()`` took effect; not called for retries.
  func requestDidResume(_ request: Request)
  /// ``Request/suspend()`` took effect.
  func requestDidSuspend(_ request: Request)
  /// ``Request/cancel()`` took effect.
  func requestDidCancel(_ request: Request)

  // MARK: Data requests

  /// A validator has run. Called once for each validator, up to the first that fails.
  func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult)
  /// A handler without a serializer got its response.
  func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>)
  /// A handler got its response, with the serialized value or the failure.
  func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>)

  // MARK: Uploads

  /// A stream is about to be read; ``request(_:didProvideInputStream:)`` follows.
  func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask)
  /// The attempt's body was made, after the adapters and before the final URL request.
  func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
  /// The body could not be made. No task is made.
  func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError)
  /// Reading of the body's stream begins. From now on the stream belongs to a worker thread.
  func request(_ request: UploadRequest, didProvideInputStream stream: InputStream)

  // MARK: Downloads

  /// The server sends the rest of a file, beginning at this offset; the total expected is −1 if unknown.
  func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64)
  /// A piece of a download has come. Totals count from the file's beginning; the total expected is −1 if unknown.
  func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64)
  /// The body is complete, in a temporary file that is about to be moved.
  func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL)
  /// The destination closure has returned the place for the file.
  func request(_ request: DownloadRequest, didCreateDestinationURL url: URL)
  /// The file was moved to its place, or could not be moved.
  func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>)
  /// A validator has run. Called once for each validator, up to the first that fails.
  func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult)
  /// A handler that takes the file's URL as it is got its response.
  func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>)
  /// A handler got its response, with the serialized value or the failure.
  func request<Value>(_ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>)

  // MARK: Streams

  /// A validator of a stream has run. Called once for each validator, up to the first that fails.
  func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult)
  /// A chunk is serialized for one handler. Not called for handlers that take chunks as they are.
  func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>)

  // MARK: Additions to Alamofire's events

  /// One adapter has answered. `name` is its given name, else the name of its type; `duration` is in seconds.
  func request(_ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?)
  /// An attempt goes on the wire; its number is 1 for the first. Attempts beside a slow one count too.
  func request(_ request: Request, didStartAttempt number: Int)
  /// An attempt that was on the wire is over and validated. The error is the one that retriers are asked about.
  func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?)
  /// The same end, with all that a span of the attempt says.
  func request(_ request: Request, didRecordAttempt record: AttemptRecord)
  /// An informational response (RFC 9110 §15.2) has come: a 100, 102, 103 or any other 1xx but 101. Another response
  /// follows, of this attempt or of a later one. At most 16 come per request on the wire.
  func request(_ request: Request, didReceiveInformationalResponse response: HTTPURLResponse)
  /// A retry was granted and will start after `delay` seconds.
  func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason)
  /// A retry was denied. Called at most once per attempt.
  func request(_ request: Request, didDenyRetry denial: RetryDenial)
  /// A second attempt beside a slow one started, won, lost, or was denied; see ``Request/hedge(after:limit:)-(HedgeDelay,_)``.
  func request(_ request: Request, hedge event: HedgeEvent)
  /// An attempt has waited so many seconds for its turn by the pace of its destination (``SessionConfiguration/pace``), or
  /// was refused after that time. Not called for attempts that did not wait.
  func request(_ request: Request, waitedForPace seconds: TimeInterval)
  /// Load control (``SessionConfiguration/overload``) or the pace of the destination (``SessionConfiguration/pace``) has
  /// refused the request; nothing of its present attempt was sent.
  func request(_ request: Request, wasShed reason: ShedReason)
  /// The request was cancelled by its user before it had settled, after its first attempt was begun.
  func request(_ request: Request, abandonedIn phase: AbandonedPhase)
  /// The cache was asked for a response, and the server too if that was necessary. Called at most once per attempt.
  func request(_ request: Request, cache result: CacheResult)
  /// The outcome is fixed. Called exactly once per request, after every other event except `didParseResponse`.
  func requestDidSettle(_ request: Request, outcome: RequestOutcome)
  /// A connection's event; its kind belongs to ``EventInterests/connections`` or ``EventInterests/connectionUse``.
  func session(_ session: Session, connectionEvent event: ConnectionEvent)
  /// How long a due timer of the event loop waited for its turn, in seconds.
  func session(_ session: Session, loopLag lag: TimeInterval)
  /// The retries that a destination's budget would grant now. Called once a second while requests go there.
  func session(_ session: Session, retryBudget destination: Destination, available: Double)
  /// A destination's circuit has changed its state. The first state is `.closed`, when the circuit comes into use.
  func session(_ session: Session, circuit destination: Destination, entered state: CircuitState)
  /// A destination's load control has changed its state. The state is `.normal` at first.
  func session(_ session: Session, overload destination: Destination, entered state: OverloadState)
  /// The values of a destination's load control, and the events since the report before. Called once a second from the
  /// first request on, until none has come for ten minutes.
  func session(_ session: Session, overload destination: Destination, report: OverloadReport)
  /// A destination has asked for a pause that is obeyed (``SessionConfiguration/pace``). Called at the beginning of each
  /// pause, then once a second with the seconds that are left, and once more when it is over; and once a second while the
  /// pace refuses requests.
  func session(_ session: Session, pace destination: Destination, report: PauseReport)
  /// An endpoint of an ``EndpointGroup`` was left out, or is back.
  func session(_ session: Session, endpointsOf origin: Destination, event: EndpointEvent)
  /// Something happened to a credential that is refreshed on behalf of requests of this session.
  func session(_ session: Session, refresh event: RefreshEvent)
}

/// A monitor that is called synchronously on the event loop: nothing is queued for it, and it must not block.
@preconcurrency
public protocol InlineEventMonitor: EventMonitor {}

/// The groups of callbacks that a monitor wants. Events that no monitor wants are not even prepared. That matters most
/// for ``tasks`` (a Foundation response per attempt) and ``data`` (a call per chunk).
public struct EventInterests: OptionSet, Sendable {
  /// One bit per group.
  public let rawValue: UInt32

  /// Creates a set from the bits of several groups.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// `requestDidResume`, `…Suspend`, `…Cancel`, `…Finish`, `requestIsRetrying` and the same events of tasks, from
  /// `didCreateTask` to `didCompleteTask`; also a download's destination and the move to it.
  public static let lifecycle = EventInterests(rawValue: 1 << 0)
  /// Creation and adaptation of URL requests.
  public static let creation = EventInterests(rawValue: 1 << 1)
  /// `urlSession(_:…)` callbacks of tasks, without data and redirects; and `didGatherMetrics`.
  public static let tasks = EventInterests(rawValue: 1 << 2)
  /// `urlSession(_:dataTask:didReceive: Data)`, `didSendBodyData` and `didWriteData`.
  public static let data = EventInterests(rawValue: 1 << 3)
  /// Validation and serialization, and informational responses.
  public static let responses = EventInterests(rawValue: 1 << 4)
  /// Adapters' durations, cache results, attempts, hedges, retry decisions, waits for the pace, refusals by it and by load
  /// control, callers that gave up, and settling, which are weir's additions; and `requestIsRetrying`.
  public static let attempts = EventInterests(rawValue: 1 << 5)
  /// Loop lag and invalidation.
  public static let session = EventInterests(rawValue: 1 << 6)
  /// `urlSession(_:task:willPerformHTTPRedirection:newRequest:)`.
  public static let redirects = EventInterests(rawValue: 1 << 7)
  /// Connections opened and closed.
  public static let connections = EventInterests(rawValue: 1 << 8)
  /// Connections reused for a request, or idle after one. ``TransferMetrics/isReusedConnection`` also shows the reuse.
  public static let connectionUse = EventInterests(rawValue: 1 << 9)
  /// The limits on attempts to a destination: its retry budget, circuit and load control; and the endpoints that are
  /// left out or back.
  public static let resilience = EventInterests(rawValue: 1 << 10)
  /// Refreshes of credentials, and the number of requests that wait for them.
  public static let refreshes = EventInterests(rawValue: 1 << 11)
  /// `urlSession(_:task:didReceive: TransferChallenge)`.
  public static let challenges = EventInterests(rawValue: 1 << 12)

  /// `request(_:didRecordAttempt:)`.
  public static let records = EventInterests(rawValue: 1 << 14)

  /// The part of ``attempts`` that the transport doesn't know of: adapters' durations and cache results.
  package static let adaptations = EventInterests(rawValue: 1 << 13)

  /// Every group, including groups added later.
  public static let all = EventInterests(rawValue: .max)
}

private let defaultMonitorQueue = DispatchQueue(label: "weir.eventMonitor")

// A protocol requirement can't have its default value in its declaration, so each is repeated here.
extension EventMonitor {
  public var queue: DispatchQueue { defaultMonitorQueue }
  public var interests: EventInterests { .all }
  public var traceSampler: TraceSampler? { nil }
  public func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {}
  public func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {}
  public func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {}
  public func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge) {}
  public func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {}
  public func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {}
  public func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask) {}
  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {}
  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {}
  public func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse) {}
  public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {}
  public func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {}
  public func request(
    _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
  ) {}
  public func request(
    _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError
  ) {}
  public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {}
  public func request(_ request: Request, didCreateTask task: TransferTask) {}
  public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {}
  public func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {}
  public func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {}
  public func request(_ request: Request, didResumeTask task: TransferTask) {}
  public func request(_ request: Request, didSuspendTask task: TransferTask) {}
  public func request(_ request: Request, didCancelTask task: TransferTask) {}
  public func requestIsRetrying(_ request: Request) {}
  public func requestDidFinish(_ request: Request) {}
  public func requestDidResume(_ request: Request) {}
  public func requestDidSuspend(_ request: Request) {}
  public func requestDidCancel(_ request: Request) {}
  public func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult
  ) {}
  public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {}
  public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {}
  // MARK: Uploads
  public func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask) {}
  public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {}
  public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError) {}
  public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {}
  // MARK: Downloads and streams

  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
  ) {}
  public func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64
  ) {}
  public func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL) {}
  public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {}
  public func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>
  ) {}
  public func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult
  ) {}
  public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>) {}
  public func request<Value>(
    _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>
  ) {}
  public func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult
  ) {}
  public func request<Value: Sendable>(
    _ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>
  ) {}

  // MARK: Additions to Alamofire's events

  public func request(
    _ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?
  ) {}
  public func request(_ request: Request, didStartAttempt number: Int) {}
  public func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {}
  public func request(_ request: Request, didRecordAttempt record: AttemptRecord) {}
  public func request(_ request: Request, didReceiveInformationalResponse response: HTTPURLResponse) {}
  public func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {}
  public func request(_ request: Request, didDenyRetry denial: RetryDenial) {}
  public func request(_ request: Request, hedge event: HedgeEvent) {}
  public func request(_ request: Request, waitedForPace seconds: TimeInterval) {}
  public func request(_ request: Request, wasShed reason: ShedReason) {}
  public func request(_ request: Request, abandonedIn phase: AbandonedPhase) {}
  public func request(_ request: Request, cache result: CacheResult) {}
  public func requestDidSettle(_ request: Request, outcome: RequestOutcome) {}
  public func session(_ session: Session, connectionEvent event: ConnectionEvent) {}
  public func session(_ session: Session, loopLag lag: TimeInterval) {}
  public func session(_ session: Session, retryBudget destination: Destination, available: Double) {}
  public func session(_ session: Session, circuit destination: Destination, entered state: CircuitState) {}
  public func session(_ session: Session, overload destination: Destination, entered state: OverloadState) {}
  public func session(_ session: Session, overload destination: Destination, report: OverloadReport) {}
  public func session(_ session: Session, pace destination: Destination, report: PauseReport) {}
  public func session(_ session: Session, endpointsOf origin: Destination, event: EndpointEvent) {}
  public func session(_ session: Session, refresh event: RefreshEvent) {}
}
