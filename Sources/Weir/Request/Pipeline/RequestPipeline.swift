import Synchronization
import WeirIO

/// The thin shell around a request's machine: it lives on the loop while the request is active, does what the machine
/// says, and feeds back what came of it. What happens in which order is decided in `RequestMachine`.
final class RequestPipeline: TransportExchange {
  let request: Request
  let core: SessionCore
  let context: SessionContext
  /// What it may ask of its destination, which is known when its first URL request is.
  let terms: DestinationTerms
  /// That of the first URL request; nil before there is one.
  var method: String?
  /// The session's monitors and the request's own, kept up to date by `Request.eventMonitor(_:)`.
  @exclusivity(unchecked) var monitors: CompositeEventMonitor

  /// The present attempt, from its task's creation on.
  @exclusivity(unchecked) var attempt: RequestAttempt?
  /// What goes on beside it, when the request asked for that.
  var hedging: Hedging?
  /// The stream that the request's body comes out of; kept as long as it could be asked for again.
  var bodyStream: (stream: InputStream, lane: FileLane, state: BodyStream)?

  // The end
  @exclusivity(unchecked) var values: [HandlerValue] = []
  /// Whether monitors know that this attempt is not retried; its handlers may ask again.
  var hasDenied = false
  /// Why the next attempt was granted.
  var grantedReason: RetryReason?
  /// What a retrier made of the error of one handler's value.
  var verdict: WeirError?

  private var hasStarted = false
  /// Whether monitors were told last that the request is resumed, not suspended.
  private(set) var isResumed = false
  private let deadline = LoopTimer()
  private lazy var wait = LoopTimer()
  private var isWaiting = false
  private(set) var deadlineTime = MonotonicTime.distantFuture

  init(request: Request, core: SessionCore) {
    self.request = request
    self.core = core
    context = request.context
    (monitors, terms) = request.fields.withLock { fields in
      let terms = DestinationTerms(core.controls)
      if let own = fields.retryBudget { terms.retryBudget = own }
      return (fields.monitors, terms)
    }
  }

  /// The session's core, which tells the request's monitors. Nil where there is none to tell.
  var observer: (any TransportObserver)? { monitors.isEmpty ? nil : core }

  /// Whether any monitor wants to hear; ask before preparing an event.
  @inline(__always)
  func wants(_ interest: EventInterests) -> Bool { monitors.wants(interest) }

  /// Passes an input to the machine under the request's lock and returns its answer.
  @inline(__always)
  func decide<Answer>(_ input: (inout RequestMachine) -> Answer) -> Answer {
    request.fields.withLock { input(&$0.machine) }
  }

  /// The attempt that this task is; nil when it is over.
  func attempt(of task: TransferTask) -> RequestAttempt? {
    attempt?.task === task ? attempt : hedging?.rivals.first { $0.task === task }
  }

  // MARK: What the caller did

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
    case .cancel: monitors.requestDidCancel(request)
    }
  }

  // MARK: What the machine says

  func perform(_ action: RequestMachine.Action) {
    switch action {
    case .none: break
    case .create: create()
    case .start: attempt?.admit()
    case .hold: attempt?.leaveQueue()
    case .suspendTransfer: for attempt in running { attempt.suspend() }
    case .resumeTransfer:
      for attempt in running { attempt.resume() }
      awaitHedge()
    case .cancelTransfer:
      endRace()
      attempt?.cancel()
    case .askRetriers: askRetriers()
    case .wait(let delay): waitForRetry(delay)
    case .retry: retry()
    case .finish: finish()
    case .serialize: break  // an answer to `nextHandler` alone, which does it
    case .nextHandler: nextHandler()
    case .settle: settle()
    }
  }

  /// Ends the request with an error that no retrier hears of.
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

  /// The first `resume()`: times and deadline count from here, also when setup came before it.
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
    core.loop.schedule(deadline, at: deadlineTime, handler: self)
  }

  func startWait(seconds: Double) {
    isWaiting = true
    core.loop.schedule(wait, at: MonotonicTime.now.advanced(bySeconds: seconds), handler: self)
  }

  func endWait() {
    if isWaiting { core.loop.cancel(wait) }
    isWaiting = false
  }

  func stopTimers() {
    core.loop.cancel(deadline)
    if let hedging { core.loop.cancel(hedging.timer) }
    endWait()
  }
}

extension RequestPipeline: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if timer === deadline {
      deadlineIsOver()
    } else if timer === hedging?.timer {
      hedgeIsDue()
    } else {
      perform(decide { $0.delayElapsed() })
    }
  }

  private func deadlineIsOver() {
    fail(with: .sessionTaskFailed(error: urlError(.timedOut, "the request took longer than its \(deadlineText)")))
  }

  private var deadlineText: String {
    if let own = request.fields.withLock({ $0.deadline }) { return "deadline, \(own) s" }
    return "timeoutIntervalForResource, \(core.configuration.timeoutIntervalForResource) s"
  }

  /// An error of weir's own making, with the request and the URL it is about.
  func urlError(_ code: URLError.Code, _ text: String) -> URLError {
    URLError(code, userInfo: [NSLocalizedDescriptionKey: text])
      .about(
        request.failureContext(of: attempt?.hop.request, attempt: attempt?.number),
        attempt?.hop.url ?? request.lastRequest?.url)
  }
}

extension Request {
  /// Runs `action` with this request's pipeline, on the loop: at once when called there. Nothing happens when the
  /// request is not active any more.
  func onPipeline(_ action: @escaping @Sendable (RequestPipeline) -> Void) {
    context.loop.run { [self] in
      if let pipeline = context.core.value.pipeline(of: self) { action(pipeline) }
    }
  }

  /// The same with the attempt that this task is, while it is the present one.
  func onAttempt(_ task: TransferTask, _ action: @escaping @Sendable (RequestAttempt) -> Void) {
    onPipeline { $0.attempt(of: task).map(action) }
  }
}

extension Request: TransferSteering {
  /// By a job of its own: the caller may be in the middle of one of the request's steps.
  func steer(_ task: TransferTask, to state: TransferTask.State) {
    context.loop.post { [self] in onAttempt(task) { $0.steerTask(to: state) } }
  }
}
