import Synchronization
import WeirIO

/// The thin shell around a request's machine. It lives on the loop while the request is active, performs the machine's
/// actions and feeds their results back. `RequestMachine` decides what happens in which order; what it does as any
/// exchange is in ``ExchangeRun``.
final class RequestPipeline {
  let request: Request
  let core: SessionCore
  let context: SessionContext
  /// The limits and budgets of the request's destination, which is set once the first URL request exists.
  let admission: ExchangeAdmission
  let operation: NamedOperation?
  /// The method of the first URL request; nil before that exists.
  @exclusivity(unchecked) var method: String?
  /// The session's monitors and the request's own, kept up to date by `Request.eventMonitor(_:)`.
  @exclusivity(unchecked) var monitors: CompositeEventMonitor

  /// The present attempt, from its task's creation on.
  @exclusivity(unchecked) var attempt: TaskRunner?
  /// Nil if no attempt is recorded, and no trace begins with the request.
  @exclusivity(unchecked) var trace: RequestTrace?
  /// The second attempts beside the present one.
  @exclusivity(unchecked) var rivals: [TaskRunner] = []
  /// The delay and the number of second attempts, once an attempt is on the wire; nil: none starts beside a slow one.
  @exclusivity(unchecked) var hedge: HedgePlan?
  /// The stream from which the request's body is read; kept as long as an attempt could read it again.
  @exclusivity(unchecked) var bodyStream: (stream: InputStream, lane: FileLane, state: BodyStream)?

  // The end
  @exclusivity(unchecked) var values: [HandlerValue] = []
  /// The reason for which the next attempt was granted.
  @exclusivity(unchecked) var grantedReason: RetryReason?
  /// The error with which a retrier replaces the error of one handler's value.
  @exclusivity(unchecked) var verdict: WeirError?

  @exclusivity(unchecked) private var hasStarted = false
  /// Whether monitors were told last that the request is resumed, not suspended.
  @exclusivity(unchecked) private(set) var isResumed = false
  private let deadline = LoopTimer()
  private lazy var wait = LoopTimer()
  private lazy var hedgeTimer = LoopTimer()
  @exclusivity(unchecked) private var isWaiting = false
  @exclusivity(unchecked) private(set) var deadlineTime = MonotonicTime.distantFuture
  /// Whether the deadline has ended the request.
  @exclusivity(unchecked) private(set) var isLate = false
  /// Whether no attempt follows, unless a retrier asks for one on account of a handler's value.
  @exclusivity(unchecked) var isFinished = false

  init(request: Request, core: SessionCore) {
    self.request = request
    self.core = core
    context = request.context
    (monitors, admission, operation) = request.fields.withLock { fields in
      let admission = ExchangeAdmission(core.controls)
      if let own = fields.retryBudget { admission.retryBudget = own }
      return (fields.monitors, admission, fields.operation)
    }
  }

  var path: String? {
    let hop = request.fields.withLock { $0.attempt?.initial }
    return hop?.urlRequest.url?.path(percentEncoded: true)
  }

  /// The session's core, which tells the request's monitors; nil if the request has none.
  var observer: (any TransportObserver)? { monitors.isEmpty ? nil : core }

  var sampledTrace: TraceContext? {
    guard let trace = trace?.context ?? request.trace, trace.isSampled else { return nil }
    return trace
  }

  /// Whether any monitor wants these events; check this before preparing one.
  @inline(__always)
  func wants(_ interest: EventInterests) -> Bool { monitors.wants(interest) }

  /// Passes an input to the machine under the request's lock and returns its answer.
  @inline(__always)
  func decide<Answer>(_ input: (inout RequestMachine) -> Answer) -> Answer {
    request.fields.withLock { input(&$0.machine) }
  }

  /// The runner of this task; nil if its attempt is over.
  func runner(of task: TransferTask) -> TaskRunner? {
    attempt?.task === task ? attempt : rivals.first { $0.task === task }
  }

  // MARK: Verbs of the caller

  func perform(_ verb: RequestMachine.Verb, _ action: RequestMachine.Action) {
    if verb == .resume { start() }
    if verb != .cancel { isResumed = verb == .resume }
    announce(verb)
    perform(action)
  }

  func announce(_ verb: RequestMachine.Verb) {
    switch verb {
    case .resume: monitors.requestDidResume(request)
    case .suspend: monitors.requestDidSuspend(request)
    case .cancel:
      monitors.requestDidCancel(request)
      if let phase = abandonedPhase { observer?.exchange(self, abandonedIn: phase) }
    }
  }

  /// Where the request is if its caller leaves now; nil before its first attempt.
  private var abandonedPhase: AbandonedPhase? {
    guard let attempt = attempt?.attempt, !isWaiting else {
      // Between two attempts there is none. One that could not be made is followed by none.
      return attempt == nil && (request.retryCount == 0 || isFinished) ? nil : .queue
    }
    // After the last attempt there is only the work of the handlers left.
    return isFinished && attempt.hasAnswered ? .body : attempt.abandonedPhase
  }

  // MARK: Actions of the machine

  func perform(_ action: RequestMachine.Action) {
    switch action {
    case .none: break
    case .exchange(let action): perform(action)
    case .hold: attempt?.leaveQueue()
    case .suspendTransfer: for attempt in running { attempt.suspend() }
    case .resumeTransfer:
      for attempt in running { attempt.resume() }
      awaitHedge()
    case .finish: finish()
    case .serialize: break  // only `nextHandler` returns this action, and performs it itself
    case .nextHandler: nextHandler()
    case .settle: deliver()
    }
  }

  private var running: [TaskRunner] { (attempt.map { [$0] } ?? []) + rivals }

  /// Ends the request with an error about which no retrier is asked.
  func fail(with error: WeirError) {
    let error = request.amended(error)
    let (action, replaced, abandoned) = request.fields.withLock { fields in
      let action = fields.machine.fail()
      guard action != .none else { return (action, nil as WeirError?, [] as [any Abandonable]) }
      return (action, fields.exchange(error: error), fields.takePendingAnswers())
    }
    withExtendedLifetime(replaced) {}
    perform(action)
    for answer in abandoned { answer.abandon() }
  }

  // MARK: Time

  /// The first `resume()`: times and the deadline count from here, even if the request was set up before.
  private func start() {
    guard !hasStarted else { return }
    let times = RequestTimes()
    let (isActive, limit) = request.fields.withLock { fields in
      if fields.machine.isActive { fields.times = times }
      return (fields.machine.isActive, fields.deadline)
    }
    guard isActive else { return }
    hasStarted = true
    let seconds = limit ?? core.configuration.timeoutIntervalForResource
    deadlineTime = times.start.advanced(bySeconds: seconds)
    admission.callerLeaves = deadlineTime
    core.loop.schedule(deadline, at: deadlineTime, handler: self)
  }

  func wait(_ seconds: Double, for event: ExchangeTimer) {
    if case .retry = event {
      values.removeAll()
      // Posted to the mailbox: a retrier that always says yes at once must not grow the stack.
      guard seconds > 0 else { return core.loop.post { [request] in request.onPipeline { $0.retryIsDue() } } }
      isWaiting = true
    }
    let timer = if case .hedge = event { hedgeTimer } else { wait }
    core.loop.schedule(timer, at: MonotonicTime.now.advanced(bySeconds: seconds), handler: self)
  }

  func stopWaiting(for event: ExchangeTimer) {
    if case .hedge = event { return core.loop.cancel(hedgeTimer) }
    if isWaiting { core.loop.cancel(wait) }
    isWaiting = false
  }

  func stopTimers() {
    core.loop.cancel(deadline)
    if hedge != nil { stopWaiting(for: .hedge) }
  }
}

extension RequestPipeline: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if timer === deadline {
      deadlineIsOver()
    } else if hedge != nil, timer === hedgeTimer {
      hedgeIsDue()
    } else {
      isWaiting = false
      retryIsDue()
    }
  }

  private func deadlineIsOver() {
    isLate = true
    fail(with: .sessionTaskFailed(error: urlError(.timedOut, "the request took longer than its \(deadlineText)")))
  }

  private var deadlineText: String {
    if let own = request.fields.withLock({ $0.deadline }) { return "deadline, \(own) s" }
    return "timeoutIntervalForResource, \(core.configuration.timeoutIntervalForResource) s"
  }

  /// An error that weir makes itself, with the request and the URL it is about.
  func urlError(_ code: URLError.Code, _ text: String) -> URLError {
    if let attempt { return attempt.urlError(code, text) }
    return URLError(code, userInfo: [NSLocalizedDescriptionKey: text])
      .about(request.failureContext(), request.lastRequest?.url)
  }
}

extension Request {
  /// Runs `action` with this request's pipeline on the loop: at once if called there. Does nothing for an inactive
  /// request.
  func onPipeline(_ action: @escaping @Sendable (RequestPipeline) -> Void) {
    context.loop.run { [self] in
      if let pipeline = context.core.value.pipeline(of: self) { action(pipeline) }
    }
  }

  /// Runs `action`, likewise on the loop, with the runner of this task, while its attempt is under way.
  func onTask(_ task: TransferTask, _ action: @escaping @Sendable (TaskRunner) -> Void) {
    onPipeline { $0.runner(of: task).map(action) }
  }
}

extension Request: TransferSteering {
  /// Posted as a job of its own, since the caller may be in the middle of one of the request's steps.
  func steer(_ task: TransferTask, to state: TransferTask.State) {
    context.loop.post { [self] in onTask(task) { $0.steerTask(to: state) } }
  }
}
