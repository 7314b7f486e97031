import Dispatch
import Synchronization
import WeirIO

/// One request of a caller, whatever number of attempts it takes.
///
/// A request is made by a ``Session``, started by ``resume()`` (which the first response handler calls, unless told
/// otherwise), and settles exactly once. All methods may be called from any thread. Requests are equal when they are
/// the same.
///
/// `@unchecked Sendable` because a class that is inherited from can't be checked: this class and each subclass store
/// only constants of Sendable type and values in a `Mutex`.
public class Request: @unchecked Sendable {
  /// What the caller sees of a request's progress.
  public enum State: Sendable {
    /// Made; started; stopped by the caller; ended by the caller, for good; settled, with its handlers dispatched.
    case initialized, resumed, suspended, cancelled, finished
  }

  /// Gets the request's ``Request/uploadProgress`` or ``Request/downloadProgress``, the same object each time.
  public typealias ProgressHandler = @Sendable (Progress) -> Void
  /// What a validation says.
  public typealias ValidationResult = Result<Void, any Error & Sendable>

  /// What to do with a response whose head has come in.
  public enum ResponseDisposition: Sendable {
    /// Receive the body; or cancel the request.
    case allow, cancel
  }

  typealias ResponseObserver =
    @Sendable (HTTPURLResponse, @escaping @Sendable (ResponseDisposition) -> Void) -> Void

  /// Overrides the session's `startRequestsImmediately`.
  public let shouldAutomaticallyResume: Bool?
  /// The refreshes of credentials that it is made for; nil: none.
  let refreshScope = RefreshScope.current
  let context: SessionContext
  let fields: Mutex<RequestFields>
  private let lazyID = Mutex<UUID?>(nil)
  private let lazyProgress = Mutex<(upload: Progress, download: Progress)?>(nil)

  init(context: SessionContext, interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?) {
    self.context = context
    self.shouldAutomaticallyResume = shouldAutomaticallyResume
    fields = Mutex(RequestFields(monitors: context.monitors, interceptor: interceptor))
  }

  // MARK: What subclasses decide

  /// Builds the URL request of an attempt.
  func makeURLRequest() throws -> URLRequest {
    preconditionFailure("a kind of request has to say how it is built")
  }

  /// Begins to make what an attempt's body comes out of, before its task is made. False: there is nothing to make; else
  /// the pipeline is told when it is done. On the loop.
  func prepareBody(for hop: HopRequest, _ step: RequestMachine.Step, in pipeline: RequestPipeline) -> Bool { false }

  /// The body of an attempt. On the loop.
  func makeBody(of urlRequest: URLRequest) -> AttemptBody { AttemptBody(of: urlRequest) }

  /// Whether an attempt gets another stream than the one before, which may have been read.
  var makesBodyAnew: Bool { false }

  /// The final head, before any byte of the body. On the loop.
  func receive(_ response: LazyHTTPResponse) -> BodyFlow { .proceed }

  /// Decoded bytes of the body. Returns whether more may come at once. On the loop.
  func receive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow { .proceed }

  /// There is more of the body than one piece, and this much in all if the response says so (-1: it doesn't). Called between
  /// the first piece and the second.
  func bodyGoesOn(_ expected: Int64) {}

  /// Whether all that came of a body is of use, also when the transfer fails.
  var handsChunksOn: Bool { false }

  /// The transfer is over. False: the attempt's end, a failure too, waits until its `.sink` is released. On the loop.
  func bodyMayEnd() -> Bool { true }

  /// An attempt ended in an error, about which the retriers will be asked. On the loop.
  func attemptFailed() {}

  /// Another attempt begins: what came of the last one is of no use any more. On the loop.
  func reset() {}

  /// Where the URL request is built; nil: where the session says.
  var requestExecutor: ((@escaping @Sendable () -> Void) -> Void)? { nil }

  /// Whether two attempts may be under way at once.
  var mayRunTwice: Bool { true }

  /// An error that ends the request from outside, with what the request has to say of it. On the loop.
  func amended(_ error: WeirError) -> WeirError { error }

  /// Whether its response may be stored, and a stored one be its response.
  var mayBeCached: Bool { false }

  // Of what is written to a file:

  /// Where in its file the response's body begins; nil: it goes to no file. On the loop.
  var fileOffset: Int64? { nil }

  /// What to ask in place of a request that was answered with a final head of no use; nil: the head is of use. On the loop.
  func startsOver(after response: LazyHTTPResponse, to urlRequest: URLRequest) -> URLRequest? { nil }

  /// The final response's body has come to its end, or to a failure. True: the attempt's end waits until it is told that
  /// the file is done with. Asked again when the attempt is ended meanwhile. On the loop.
  func bodyEnded(_ failure: URLError?, of attempt: RequestAttempt) -> Bool { false }

  /// Bytes that may be received at the most; nil: unlimited.
  var maximumBodySize: Int64? { nil }

  /// The outcome is fixed. On the loop.
  func settled() {}

  // MARK: Verbs

  /// Starts or continues the request.
  @discardableResult
  public final func resume() -> Self {
    act(.resume)
    return self
  }

  /// Stops reading and writing until ``resume()``; the connection is kept, the deadline runs on.
  @discardableResult
  public final func suspend() -> Self {
    act(.suspend)
    return self
  }

  /// Ends the request: every handler gets ``WeirError/explicitlyCancelled``. Does nothing once it has finished.
  @discardableResult
  public final func cancel() -> Self {
    act(.cancel)
    return self
  }

  /// Changes the state in the call; what follows from it happens on the loop.
  private func act(_ verb: RequestMachine.Verb) {
    let (hasChanged, replaced, abandoned) = fields.withLock { fields in
      guard fields.machine.act(verb) else { return (false, nil as WeirError?, [] as [any Abandonable]) }
      guard verb == .cancel else { return (true, nil, []) }
      return (true, fields.exchange(error: .explicitlyCancelled), fields.takePendingAnswers())
    }
    withExtendedLifetime(replaced) {}
    if hasChanged { context.loop.post { [self] in context.core.value.hear(self) } }
    for answer in abandoned { answer.abandon() }
  }

  // MARK: Handlers

  /// Adds a handler; the first one resumes the request, later and only if that is wanted.
  final func addHandler(_ handler: ResponseHandler) {
    let (isSettled, isFirst, own) = fields.withLock { fields in
      fields.handlers.append(handler)
      fields.machine.reopened()
      return (fields.machine.isSettled, fields.handlers.count == 1, fields.ownDelegate)
    }
    if isSettled {
      context.loop.post { [self] in RequestPipeline.serveLateHandlers(of: self) }
    } else if isFirst,
      shouldAutomaticallyResume ?? own?.delegate?.startImmediately ?? context.startRequestsImmediately
    {
      context.loop.post { [self] in resumeAutomatically() }
    }
  }

  /// What the first handler asks for: ``resume()``, on the loop.
  private func resumeAutomatically() {
    let hasChanged = fields.withLock { $0.machine.act(.resume) }
    if hasChanged { context.core.value.hear(self) }
  }
}

/// The body of one attempt.
enum AttemptBody {
  case none
  case data(Data)
  /// Read once, on a worker.
  case stream(InputStream, length: Int64?)
  /// A file, of which so many bytes are sent.
  case file(path: String, size: Int64)
}

extension AttemptBody {
  /// What a URL request brings.
  init(of urlRequest: URLRequest) {
    if let data = urlRequest.httpBody {
      self = data.isEmpty ? .none : .data(data)
    } else {
      self = urlRequest.httpBodyStream.map { .stream($0, length: BodyStream.length(of: urlRequest)) } ?? .none
    }
  }
}

/// Whether more of a body may come at once.
enum BodyFlow: Sendable {
  case proceed
  /// Wait until the pipeline is told to go on.
  case pause
  case stop
}

extension Request: Hashable, CustomStringConvertible {
  /// Unique; made when first asked for.
  public final var id: UUID {
    lazyID.withLock { id in
      let value = id ?? UUID()
      id = value
      return value
    }
  }

  public static func == (left: Request, right: Request) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// `METHOD url (status)`, as far as known; without the URL's userinfo.
  public var description: String {
    guard let request = performedRequests.last ?? request, let url = request.url else {
      return "No request created yet."
    }
    let line = "\(request.httpMethod ?? "GET") \(Redaction.urls(in: url.absoluteString))"
    return lastTask?.lazyResponse.map { "\(line) (\($0.statusCode))" } ?? line
  }

  /// Bytes sent; total −1 when unknown.
  public final var uploadProgress: Progress { progress.upload }
  /// Decoded bytes received; total −1 when unknown.
  public final var downloadProgress: Progress { progress.download }

  /// Another attempt begins anew.
  final func resetProgress() {
    guard let progress = lazyProgress.withLock({ $0 }) else { return }
    progress.upload.report(0, of: 0)
    progress.download.report(0, of: 0)
  }

  private var progress: (upload: Progress, download: Progress) {
    let (value, isNew) = lazyProgress.withLock { progress in
      let value = progress ?? (Progress(totalUnitCount: 0), Progress(totalUnitCount: 0))
      defer { progress = value }
      return (value, progress == nil)
    }
    guard isNew else { return value }
    // From now on it is kept up to date; what was before stands in the task, and in the metrics of one that is over.
    let (task, metrics) = fields.withLock { fields in
      fields.observers.showsProgress = true
      return (fields.presentTask, fields.attempt?.metrics)
    }
    guard let task else { return value }
    value.upload.report(task.countOfBytesSent, of: task.countOfBytesExpectedToSend)
    if let metrics {
      let isDecoded = metrics.contentEncoding != nil
      value.download.report(metrics.bytesDecoded, of: isDecoded ? -1 : task.countOfBytesExpectedToReceive)
    }
    return value
  }
}

extension Progress {
  /// Sets both numbers; the total is −1 when unknown.
  func report(_ completed: Int64, of total: Int64) {
    // Foundation on Linux traps when a total goes from a positive number straight to zero.
    if total == 0, totalUnitCount > 0 { totalUnitCount = -1 }
    totalUnitCount = total
    completedUnitCount = completed
  }
}
