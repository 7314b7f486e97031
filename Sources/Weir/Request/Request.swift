import Dispatch
import Synchronization
import WeirIO

/// One request of a caller, whatever number of attempts it takes.
///
/// A ``Session`` makes a request, ``resume()`` starts it, and it settles exactly once. The first response handler calls
/// `resume()` unless that is switched off. All methods may be called from any thread. Two requests are equal if they
/// are the same object.
///
/// `@unchecked Sendable` because the compiler can't check a class with subclasses: this class and each subclass store
/// only constants of Sendable type and values in a `Mutex`.
public class Request: @unchecked Sendable {
  /// A request's progress as its caller sees it.
  public enum State: Sendable {
    /// In this order: made; started; stopped by the caller; ended for good by the caller; settled.
    case initialized, resumed, suspended, cancelled, finished
  }

  /// Called with the request's ``Request/uploadProgress`` or ``Request/downloadProgress``, the same object each time.
  public typealias ProgressHandler = @Sendable (Progress) -> Void
  /// The result of a validation.
  public typealias ValidationResult = Result<Void, any Error & Sendable>

  /// The answer to a response's head: receive the body or not.
  public enum ResponseDisposition: Sendable {
    /// In this order: receive the body; cancel the request.
    case allow, cancel
  }

  typealias ResponseObserver =
    @Sendable (HTTPURLResponse, @escaping @Sendable (ResponseDisposition) -> Void) -> Void

  /// Overrides the session's `startRequestsImmediately`.
  public let shouldAutomaticallyResume: Bool?
  /// The refreshes of credentials for which this request is made; nil: it is made for none.
  let refreshScope = RefreshScope.current
  /// The caller's place in a trace; nil without one.
  let trace: TraceContext?
  let context: SessionContext
  let fields: Mutex<RequestFields>
  private let lazyID = Mutex<UUID?>(nil)
  private let lazyProgress = Mutex<(upload: Progress, download: Progress)?>(nil)

  init(context: SessionContext, interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?) {
    self.context = context
    trace = context.configuration.traceContext?()
    self.shouldAutomaticallyResume = shouldAutomaticallyResume
    fields = Mutex(RequestFields(monitors: context.monitors, interceptor: interceptor))
  }

  // MARK: Hooks of subclasses

  /// Builds the URL request of an attempt.
  func makeURLRequest() throws -> URLRequest {
    preconditionFailure("a subclass of Request has to override makeURLRequest()")
  }

  /// The URL request of an attempt, which may be sent.
  func makeHop() throws -> HopRequest {
    let urlRequest = try makeURLRequest()
    try urlRequest.validate()
    return HopRequest(urlRequest)
  }

  /// Begins to make an attempt's body before its task is made. False: there is nothing to make. True: the pipeline is
  /// told when the body is made. Called on the loop.
  func prepareBody(for hop: HopRequest, _ step: RequestMachine.Step, in pipeline: RequestPipeline) -> Bool { false }

  /// The body of an attempt. Called on the loop.
  func makeBody(of hop: HopRequest) -> AttemptBody { AttemptBody(of: hop) }

  /// The body as a curl command line says it.
  func describedBody(of hop: HopRequest) -> CURLBody { CURLBody(AttemptBody(of: hop), method: hop.method) }

  /// Whether each attempt gets a new stream, as an earlier attempt may have read the last one.
  var makesBodyAnew: Bool { false }

  /// Whether validators judge the final head before anything of the response is passed on, and not when the body has
  /// ended. Called on the loop.
  var judgesHead: Bool { false }

  /// Whether the caller has the head of a response, so that no other attempt can give the answer. Called on the loop.
  var isAnswered: Bool { false }

  /// Takes the final head, before any byte of the body. Called on the loop.
  func receive(_ response: LazyHTTPResponse) -> BodyFlow { .proceed }

  /// Takes decoded bytes of the body. Returns whether more may follow at once. Called on the loop.
  func receive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow { .proceed }

  /// Called between the first and the second piece of a body. `expected` is the whole length; -1 if the response
  /// gives none.
  func bodyGoesOn(_ expected: Int64) {}

  /// Whether the part of a body that has arrived is of use even if the transfer fails.
  var handsChunksOn: Bool { false }

  /// Called on the loop when the transfer is over. False: the attempt's end, even a failure, waits until its `.sink` is
  /// released.
  func bodyMayEnd() -> Bool { true }

  /// An attempt ended in an error, about which the retriers will be asked. Called on the loop.
  func attemptFailed() {}

  /// Another attempt begins, and the last attempt's results are of no use any more. Called on the loop.
  func reset() {}

  /// The executor on which the URL request is built; nil: the session's choice.
  var requestExecutor: Executor? { nil }

  /// Whether two attempts may be under way at once.
  var mayRunTwice: Bool { true }

  /// An error that ends the request from outside, with what the request adds to it. Called on the loop.
  func amended(_ error: WeirError) -> WeirError { error }

  /// Whether the request's response may be stored, and a stored response may answer the request.
  var mayBeCached: Bool { false }

  // For a body that is written to a file:

  /// The offset in its file at which the response's body begins; nil: the body goes to no file. Called on the loop.
  var fileOffset: Int64? { nil }

  /// The request to send if the final head is of no use; nil: the head is of use. Called on the loop.
  func startsOver(after response: LazyHTTPResponse, to urlRequest: URLRequest) -> URLRequest? { nil }

  /// The final response's body has ended, whole or with a failure. True: the attempt's end waits until `receiverDone`
  /// says that the file is done with. Called again if the attempt is ended meanwhile. Called on the loop.
  func bodyEnded(_ failure: URLError?, of runner: TaskRunner) -> Bool { false }

  /// The largest body in bytes that may be received; nil: unlimited.
  var maximumBodySize: Int64? { nil }

  /// The outcome is fixed. Called on the loop.
  func settled() {}

  // MARK: Verbs

  /// Starts or continues the request.
  @discardableResult
  public final func resume() -> Self {
    act(.resume)
    return self
  }

  /// Stops reading and writing until ``resume()``. The connection is kept, and the deadline runs on.
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

  /// Changes the state in the call; the consequences follow on the loop.
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

  /// Adds a handler. The first handler resumes the request later, on the loop, unless that is switched off.
  @discardableResult
  final func addHandler(_ handler: ResponseHandler) -> Self {
    let (isSettled, isFirst, own) = fields.withLock { fields in
      fields.handlers.append(handler)
      fields.machine.reopened()
      return (fields.machine.isSettled, fields.handlers.count == 1, fields.ownDelegate)
    }
    if isSettled {
      context.loop.post { [self] in RequestPipeline.serveLateHandlers(of: self) }
    } else if isFirst,
      shouldAutomaticallyResume ?? own?.delegate?.startImmediately ?? context.settings.startRequestsImmediately
    {
      // As `resume()` does, but on the loop.
      context.loop.post { [self] in
        if fields.withLock({ $0.machine.act(.resume) }) { context.core.value.hear(self) }
      }
    }
    return self
  }
}

enum AttemptBody {
  case none
  case data(Data)
  /// Read once, on a worker.
  case stream(InputStream, length: Int64?)
  /// A file, of which the first `size` bytes are sent.
  case file(path: String, size: Int64)
}

extension AttemptBody {
  init(of hop: HopRequest) {
    self = .none
    guard let urlRequest = hop.given else { return }
    if let data = urlRequest.httpBody {
      if !data.isEmpty { self = .data(data) }
    } else if let stream = urlRequest.httpBodyStream {
      self = .stream(stream, length: stream.length(in: hop))
    }
  }
}

/// Whether more of a body may come at once.
enum BodyFlow: Sendable {
  case proceed
  /// Further bytes have to wait until the pipeline is told to go on.
  case pause
  case stop
}

extension Request: Hashable, CustomStringConvertible {
  /// A unique id, made when it is first read.
  public final var id: UUID {
    lazyID.withLock { id in
      let value = id ?? UUID()
      id = value
      return value
    }
  }

  public static func == (left: Request, right: Request) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// `METHOD url (status)`, as far as these are known; without the URL's user info.
  public var description: String {
    guard let request = performedRequests.last ?? request, let url = request.url else {
      return "No request created yet."
    }
    let line = "\(request.httpMethod ?? "GET") \(Redaction.urls(in: url.absoluteString))"
    return lastTask?.lazyResponse.map { "\(line) (\($0.statusCode))" } ?? line
  }

  /// The bytes sent; the total is −1 if unknown.
  public final var uploadProgress: Progress { progress.upload }
  /// The decoded bytes received; the total is −1 if unknown.
  public final var downloadProgress: Progress { progress.download }

  /// Sets the progress to zero, as another attempt begins.
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
    // From now on the progress objects are kept up to date. Earlier progress is in the task, or in the metrics after
    // its end.
    let (task, metrics) = fields.withLock { fields in
      fields.madeObservers().showsProgress = true
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
  /// Sets both numbers; the total is −1 if unknown.
  func report(_ completed: Int64, of total: Int64) {
    // Foundation on Linux traps when a total goes from a positive number straight to zero.
    if total == 0, totalUnitCount > 0 { totalUnitCount = -1 }
    totalUnitCount = total
    completedUnitCount = completed
  }
}

/// The refreshes that a request is a part of. The interceptors that perform them wait for the request, so they must not
/// hold it up.
final class RefreshScope: Sendable {
  /// Stands for an interceptor.
  final class Owner: Sendable {}

  /// Bound while an authenticator's `refresh` runs; Swift tasks that it starts inherit it.
  @TaskLocal static var current: RefreshScope?

  private let owner: Owner
  /// The scope of the request that made this refresh necessary, if that request was itself part of a refresh.
  private let outer: RefreshScope?

  init(of owner: Owner, within outer: RefreshScope?) {
    self.owner = owner
    self.outer = outer
  }

  func isPart(of owner: Owner) -> Bool {
    self.owner === owner || outer?.isPart(of: owner) == true
  }
}
