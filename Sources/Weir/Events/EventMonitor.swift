public import Dispatch

/// Hears of everything that happens to a session's or a request's requests. All methods have empty defaults.
///
/// Calls arrive on ``queue``, in the order of the events; with an ``InlineEventMonitor`` on the event loop, at once. A
/// slow monitor delays no request. At each event the request's properties already reflect it.
///
/// A session's monitors hear of all its requests, before those of the request itself
/// (``Request/eventMonitor(_:)``). The latter don't get the session level.
@preconcurrency
public protocol EventMonitor: Sendable {
  /// Where the methods are called. Default: a private serial queue shared by monitors that don't give one.
  var queue: DispatchQueue { get }
  /// Which callbacks are wanted. Default: all. Read once, when the monitor is added.
  var interests: EventInterests { get }

  // MARK: Session level

  /// The session takes no more requests, and what was unfinished ends now.
  ///
  /// `error`: What ``Session/invalidateAndCancel(error:)`` was given; nil when the last reference to the
  ///   session went or its last active request has ended.
  func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?)
  /// Bytes of a request's body were sent. `bytesSent` counts those since the last call; the total expected is −1 when
  /// unknown.
  func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64)
  /// A response redirects. Called before the ``RedirectHandler``, with the request that is proposed to it.
  func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest)
  /// A server or proxy asks for credentials by Basic or Digest: a 401 or 407, whether it is answered or delivered.
  func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge)
  /// The task's transfer has ended and is measured: once per task, also for one that failed or was cancelled.
  func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics)
  /// The task's transfer has ended, with the `URLError` that ended it or nil; validation is yet to come.
  func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?)
  /// Never called; for source compatibility.
  func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask)
  /// The final response head has come, an `HTTPURLResponse`; not called for followed redirects and 1xx.
  func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse)
  /// A piece of the body has come, decoded.
  func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data)

  /// A response may be kept in ``SessionConfiguration/urlCache``. Called before the ``CachedResponseHandler``.
  func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse)

  // MARK: Requests of all kinds

  /// The convertible gave a URL request; adapters are yet to change it. Once per attempt.
  func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest)
  /// The convertible, a modifier or an encoder failed, or what they made is not valid. No task is made.
  func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError)
  /// All adapters have answered. Not called where there are none.
  func request(_ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest)
  /// An adapter failed, or what it returned is not valid. No task is made.
  func request(_ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError)
  /// The URL request that goes on the wire is complete.
  func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest)
  /// The attempt has its task, which is not started yet.
  func request(_ request: Request, didCreateTask task: TransferTask)
  /// The attempt's metrics are in ``Request/allMetrics``.
  func request(_ request: Request, didGatherMetrics metrics: TransferMetrics)
  /// The task fails for a reason that is no transfer's: its server is not trusted, as
  /// an evaluator demands it.
  func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError)
  /// The task is over and validated. The error is the transfer's alone: nil after a validation that failed.
  func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?)
  /// The task was started, or goes on after a suspension.
  func request(_ request: Request, didResumeTask task: TransferTask)
  /// The task was stopped in its transfer, or made for a request that is suspended.
  func request(_ request: Request, didSuspendTask task: TransferTask)
  /// The task was cancelled with its request; its metrics and its completion follow.
  func request(_ request: Request, didCancelTask task: TransferTask)
  /// Another attempt begins; ``Request/retryCount`` counts it already. Called after the delay.
  func requestIsRetrying(_ request: Request)
  /// The last attempt is over and nobody wants another; serializers are yet to run. Comes again when a serializer's
  /// failure was retried.
  func requestDidFinish(_ request: Request)
  /// ``Request/resume()`` took effect; not called for retries.
  func requestDidResume(_ request: Request)
  /// ``Request/suspend()`` took effect.
  func requestDidSuspend(_ request: Request)
  /// ``Request/cancel()`` took effect.
  func requestDidCancel(_ request: Request)

  // MARK: Data requests

  /// A validator has run: once for each, up to the first that failed.
  func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult)
  /// A handler that takes the body as it is has its response.
  func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>)
  /// A handler has its response, the serialized value or the failure in it.
  func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>)

  // MARK: Uploads

  /// A stream is about to be read; ``request(_:didProvideInputStream:)`` follows.
  func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask)
  /// The attempt's body was made, after the adapters and before the final URL request.
  func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
  /// The body could not be made: no task is made.
  func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError)
  /// Reading of the body's stream begins; it is a worker's from now on.
  func request(_ request: UploadRequest, didProvideInputStream stream: InputStream)

  // MARK: Downloads

  /// The server sends the rest of a file, from this offset on; the total expected is −1 when unknown.
  func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64)
  /// A piece of a download has come. Totals count from the file's beginning; the total expected is −1 when unknown.
  func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64)
  /// The body is complete, in a temporary file that is moved next.
  func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL)
  /// The destination closure has said where the file goes.
  func request(_ request: DownloadRequest, didCreateDestinationURL url: URL)
  /// The file is there, or could not be moved.
  func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>)
  /// A validator has run: once for each, up to the first that failed.
  func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult)
  /// A handler that takes the file's URL as it is has its response.
  func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>)
  /// A handler has its response, the serialized value or the failure in it.
  func request<Value>(_ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>)

  // MARK: Streams

  /// A stream's validator has run: once for each, up to the first that failed.
  func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult)
  /// A chunk is serialized for one handler. Not called for handlers that take chunks as they are.
  func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>)

  // MARK: What weir adds

  /// One adapter has answered. `name` is its given name, else its type's; `duration` is in seconds.
  func request(_ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?)
  /// An attempt goes on the wire; its number is the retry count plus one.
  func request(_ request: Request, didStartAttempt number: Int)
  /// An attempt that was on the wire is over and validated, with the error that retriers are asked about.
  func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?)
  /// A retry was granted and will start after `delay` seconds.
  func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason)
  /// A retry was turned down; at most once per attempt.
  func request(_ request: Request, didDenyRetry denial: RetryDenial)
  /// A second attempt beside a slow one started, won, lost, or was denied; see ``Request/hedge(after:limit:)``.
  func request(_ request: Request, hedge event: HedgeEvent)
  /// The cache was asked for a response, and the server too where that was needed: once per attempt at most.
  func request(_ request: Request, cache result: CacheResult)
  /// The outcome is fixed: exactly once per request, after every other event but `didParseResponse`.
  func requestDidSettle(_ request: Request, outcome: RequestOutcome)
  /// Of two groups of interests: ``EventInterests/connections`` and ``EventInterests/connectionUse``.
  func session(_ session: Session, connectionEvent event: ConnectionEvent)
  /// How long a due timer of the event loop waited for its turn, in seconds.
  func session(_ session: Session, loopLag lag: TimeInterval)
  /// How many retries the budget of a destination would grant now: once a second while requests go there.
  func session(_ session: Session, retryBudget destination: Destination, available: Double)
  /// A destination's circuit has changed its state. The first is `.closed`, when the circuit comes into use.
  func session(_ session: Session, circuit destination: Destination, entered state: CircuitState)
  /// How many attempts a destination's adaptive limit allows at once: when it changes, at most once a second.
  func session(_ session: Session, concurrencyLimit destination: Destination, limit: Int)
  /// A credential is being refreshed, on behalf of requests of this session.
  func session(_ session: Session, refresh event: RefreshEvent)
}

/// A monitor that is called synchronously on the event loop: nothing is queued for it, and it must not block.
@preconcurrency
public protocol InlineEventMonitor: EventMonitor {}

/// Which groups of callbacks a monitor wants. What nobody wants is not even prepared, which matters most for
/// ``tasks`` (a Foundation response per attempt) and ``data`` (a call per chunk).
public struct EventInterests: OptionSet, Sendable {
  /// One bit per group.
  public let rawValue: UInt32

  /// Takes the bits of several groups.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// `requestDidResume`, `…Suspend`, `…Cancel`, `…Finish`, `requestIsRetrying` and their tasks' counterparts, from
  /// `didCreateTask` to `didCompleteTask`; and where a download's file goes.
  public static let lifecycle = EventInterests(rawValue: 1 << 0)
  /// Creation and adaptation of URL requests.
  public static let creation = EventInterests(rawValue: 1 << 1)
  /// `urlSession(_:…)` callbacks of tasks, without data and redirects; and `didGatherMetrics`.
  public static let tasks = EventInterests(rawValue: 1 << 2)
  /// `urlSession(_:dataTask:didReceive: Data)`, `didSendBodyData` and `didWriteData`.
  public static let data = EventInterests(rawValue: 1 << 3)
  /// Validation and serialization.
  public static let responses = EventInterests(rawValue: 1 << 4)
  /// Adapters' durations, attempts, retry decisions and settling, which are weir's additions; and `requestIsRetrying`.
  public static let attempts = EventInterests(rawValue: 1 << 5)
  /// Loop lag, invalidation.
  public static let session = EventInterests(rawValue: 1 << 6)
  /// `urlSession(_:task:willPerformHTTPRedirection:newRequest:)`.
  public static let redirects = EventInterests(rawValue: 1 << 7)
  /// Connections opened and closed.
  public static let connections = EventInterests(rawValue: 1 << 8)
  /// Connections reused for a request, and idle after one: ``TransferMetrics/isReusedConnection`` says the former too.
  public static let connectionUse = EventInterests(rawValue: 1 << 9)
  /// What bounds the attempts at a destination: its retry budget, circuit and adaptive limit.
  public static let resilience = EventInterests(rawValue: 1 << 10)
  /// Credentials that are refreshed, and who waits for that.
  public static let refreshes = EventInterests(rawValue: 1 << 11)
  /// `urlSession(_:task:didReceive: TransferChallenge)`.
  public static let challenges = EventInterests(rawValue: 1 << 12)

  /// Of ``attempts``, what no transport knows of: adapters' durations, and the cache's answers.
  package static let adaptations = EventInterests(rawValue: 1 << 13)

  /// Every group, later ones too.
  public static let all = EventInterests(rawValue: .max)
}

private let defaultMonitorQueue = DispatchQueue(label: "weir.eventMonitor")

// A requirement can't have its default where it is declared, hence the second spelling.
extension EventMonitor {
  public var queue: DispatchQueue { defaultMonitorQueue }
  public var interests: EventInterests { .all }
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

  // MARK: What weir adds

  public func request(
    _ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?
  ) {}
  public func request(_ request: Request, didStartAttempt number: Int) {}
  public func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {}
  public func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {}
  public func request(_ request: Request, didDenyRetry denial: RetryDenial) {}
  public func request(_ request: Request, hedge event: HedgeEvent) {}
  public func request(_ request: Request, cache result: CacheResult) {}
  public func requestDidSettle(_ request: Request, outcome: RequestOutcome) {}
  public func session(_ session: Session, connectionEvent event: ConnectionEvent) {}
  public func session(_ session: Session, loopLag lag: TimeInterval) {}
  public func session(_ session: Session, retryBudget destination: Destination, available: Double) {}
  public func session(_ session: Session, circuit destination: Destination, entered state: CircuitState) {}
  public func session(_ session: Session, concurrencyLimit destination: Destination, limit: Int) {}
  public func session(_ session: Session, refresh event: RefreshEvent) {}
}
