/// The life of one request as a value: which stage it is in, what the caller may do, what comes next.
///
/// The caller's verbs (`resume`, `suspend`, `cancel`) change the *state* at once, on whatever thread; the loop hears of
/// them later, in their order. Only the loop changes the *stage*: each of its inputs returns what is to be done. There
/// is no lock, clock or I/O in here. A stage that waits for somebody else's answer has a *step* number, which the
/// answer must bring back: an answer to a step that is over is ignored. From `cancel()` on nothing moves until the loop
/// has heard of it.
///
/// ```
/// idle ─► creating ─► ready ─► admitting ─► transferring ─► deciding ─► delaying ─► creating …
///             └──────────────────┴───────────────┴─► deciding ─► serializing ─► settled
///         ready, admitting, transferring ─► cancelling ─► serializing
/// ```
/// `cancel` and `fail` lead from every stage before `settled` to `serializing`, by `cancelling` when there is a task.
struct RequestMachine: Sendable {
  typealias State = Request.State
  typealias Step = UInt32

  enum Verb: Sendable {
    case resume, suspend, cancel
  }

  enum Stage: Equatable, Sendable {
    /// Nothing is set up.
    case idle
    /// The URL request is being built and adapted, the body prepared.
    case creating
    /// The task exists and waits for `resume`.
    case ready
    /// The task waits for a free slot of its destination.
    case admitting
    /// The attempt is on the wire, or suspended there.
    case transferring
    /// The task is being ended; it will still report its end.
    case cancelling
    /// The retriers are asked about the attempt's error.
    case deciding
    /// A granted retry waits for its time.
    case delaying
    /// The handlers' values are made, one after another.
    case serializing(next: Int)
    /// The retriers are asked about a serializer's error.
    case decidingSerializer(Int)
    /// The outcome is fixed.
    case settled
  }

  /// What the shell has to do.
  enum Action: Equatable, Sendable {
    case none
    /// Build the URL request.
    case create
    /// Ask for admission and start the transfer.
    case start
    /// Leave the queue for a slot, and tell that the task exists but is suspended.
    case hold
    case suspendTransfer
    case resumeTransfer
    /// End the task; its end is reported as always.
    case cancelTransfer
    /// Put the error to the retriers.
    case askRetriers
    /// Retry after so many seconds.
    case wait(Double)
    /// Begin the next attempt.
    case retry
    /// The request is over but for its handlers.
    case finish
    /// Make the value of one handler.
    case serialize(Int)
    /// Go on to the next handler.
    case nextHandler
    /// Set the outcome and deliver.
    case settle
  }

  /// The answer of the retriers, after the deadline had its say.
  enum Decision: Equatable, Sendable {
    case stop
    /// As `stop`, and whatever fails from now on is not put to them.
    case refuse
    case retry(after: Double)
  }

  /// What the caller sees.
  private(set) var state = State.initialized
  private(set) var stage = Stage.idle
  private(set) var step: Step = 0
  /// The state as far as the loop has heard of it.
  private var heard = State.initialized
  /// What the loop has still to hear.
  private var unheard: [Verb] = []
  private var hasFinished = false
  /// Whether the request was ended from outside or turned away: neither retriers nor serializers have a say in that.
  private(set) var isBeyondRetry = false
  /// Whether retries were refused, so that nobody is asked about further ones.
  private var isRefusedRetries = false

  /// Whether setup has begun and the outcome is open.
  var isActive: Bool { stage != .idle && stage != .settled }
  var isSettled: Bool { stage == .settled }
  var isSuspended: Bool { heard == .suspended }
  /// Whether the wait for a slot may end the request: not when the caller has said otherwise meanwhile.
  var awaitsSlot: Bool { stage == .admitting && state == .resumed }

  /// Whether nothing that is asked for changes the outcome any more.
  var isOver: Bool { state == .cancelled || isBeyondRetry || isSettled }

  /// Whether it is being decided if there is another attempt.
  var isDeciding: Bool {
    switch stage {
    case .deciding, .decidingSerializer: !isInterrupted
    default: false
    }
  }

  func isWaiting(in step: Step) -> Bool { self.step == step && !isInterrupted }

  /// Whether the caller has cancelled and the loop does not know yet.
  private var isInterrupted: Bool { state == .cancelled && heard != .cancelled }

  // MARK: The caller

  /// Changes the state if the verb is a legal one; then the loop has to `hear` of it.
  mutating func act(_ verb: Verb) -> Bool {
    // A handler that comes late makes it `resumed` once more, and nothing is left to steer.
    guard stage != .settled else { return false }
    switch verb {
    case .resume:
      guard state == .initialized || state == .suspended else { return false }
      state = .resumed
    case .suspend:
      guard state == .initialized || state == .resumed else { return false }
      state = .suspended
    case .cancel:
      guard state != .cancelled, state != .finished else { return false }
      state = .cancelled
    }
    unheard.append(verb)
    return true
  }

  // MARK: The loop hears of it

  /// The earliest verb that the loop has not heard of, and what follows from it.
  mutating func hear() -> (verb: Verb, action: Action)? {
    guard !unheard.isEmpty else { return nil }
    let verb = unheard.removeFirst()
    switch verb {
    case .resume: return (verb, resumed())
    case .suspend: return (verb, suspended())
    case .cancel: return (verb, cancelled())
    }
  }

  private mutating func resumed() -> Action {
    heard = .resumed
    guard !isInterrupted else { return .none }
    switch stage {
    case .idle: return enter(.creating, .create)
    case .ready: return enter(.admitting, .start)
    case .transferring: return .resumeTransfer
    default: return .none
    }
  }

  private mutating func suspended() -> Action {
    heard = .suspended
    switch stage {
    case .transferring: return .suspendTransfer
    case .ready: return .hold
    // Who is suspended waits for no slot, and no admission timeout reaches it.
    case .admitting: return enter(.ready, .hold)
    default: return .none
    }
  }

  private mutating func cancelled() -> Action {
    heard = .cancelled
    return stage == .settled ? .none : abandon()
  }

  /// Sets up a request that nobody resumed yet (`RequestSetup.eager`).
  mutating func prepare() -> Action {
    guard stage == .idle, state != .cancelled else { return .none }
    return enter(.creating, .create)
  }

  // MARK: The session

  /// Ends the request at once, with an error that no retrier hears of: deadline, session gone.
  mutating func fail() -> Action {
    guard stage != .settled, state != .cancelled else { return .none }
    isBeyondRetry = true
    return abandon()
  }

  // MARK: The loop

  mutating func created(_ step: Step) -> Action {
    guard self.step == step, stage == .creating else { return .none }
    // A cancel that the loop has still to hear of finds a task, which has to be ended.
    if isInterrupted { return enter(.ready, .none) }
    switch heard {
    case .resumed: return enter(.admitting, .start)
    case .suspended: return enter(.ready, .hold)
    default: return enter(.ready, .none)
    }
  }

  mutating func creationFailed(_ step: Step) -> Action {
    guard isWaiting(in: step), stage == .creating else { return .none }
    return enter(.deciding, .askRetriers)
  }

  /// The destination let the attempt through; false when nobody waits for that any more.
  mutating func admitted(_ step: Step) -> Bool {
    guard isWaiting(in: step), stage == .admitting else { return false }
    _ = enter(.transferring, .none)
    return true
  }

  /// The destination turned the attempt away; retriers are not asked.
  mutating func rejected(_ step: Step) -> Action {
    guard isWaiting(in: step), stage == .admitting else { return .none }
    isBeyondRetry = true
    return finish()
  }

  /// The attempt is over; it may have ended before it got to the wire.
  mutating func transferEnded(failed: Bool) -> Action {
    if stage == .cancelling { return finish() }
    guard !isInterrupted else { return .none }
    switch stage {
    case .ready, .admitting, .transferring: return afterAttempt(failed: failed)
    default: return .none
    }
  }

  private mutating func afterAttempt(failed: Bool) -> Action {
    failed && !isRefusedRetries ? enter(.deciding, .askRetriers) : finish()
  }

  mutating func decided(_ decision: Decision, _ step: Step) -> Action {
    guard isWaiting(in: step) else { return .none }
    if decision == .refuse { isRefusedRetries = true }
    switch (stage, decision) {
    case (.deciding, .stop), (.deciding, .refuse): return finish()
    case (.deciding, .retry(let delay)), (.decidingSerializer, .retry(let delay)):
      return enter(.delaying, .wait(delay))
    case (.decidingSerializer(let index), .stop), (.decidingSerializer(let index), .refuse):
      return enter(.serializing(next: index + 1), .nextHandler)
    default: return .none
    }
  }

  /// The retry's time has come.
  mutating func delayElapsed() -> Action {
    guard stage == .delaying, !isInterrupted else { return .none }
    hasFinished = false
    return enter(.creating, .retry)
  }

  /// Whether `requestDidFinish` is to be told now; it is told once per run through the pipeline. Without handlers the
  /// request is finished then.
  mutating func finishing(hasHandlers: Bool) -> Bool {
    if !hasHandlers { delivered() }
    defer { hasFinished = true }
    return !hasFinished
  }

  /// Which handler is next, or that all have their values.
  mutating func nextHandler(of count: Int) -> Action {
    guard case .serializing(let next) = stage, !isInterrupted else { return .none }
    return next < count ? .serialize(next) : enter(.settled, .settle)
  }

  /// A handler's value is there.
  mutating func serialized(_ index: Int, asksRetriers: Bool, _ step: Step) -> Action {
    guard isWaiting(in: step), stage == .serializing(next: index) else { return .none }
    if asksRetriers, !isBeyondRetry, !isRefusedRetries, state != .cancelled {
      return enter(.decidingSerializer(index), .askRetriers)
    }
    return enter(.serializing(next: index + 1), .nextHandler)
  }

  /// What the caller did and the loop has not heard of, which changes nothing any more: all but a cancel, which would have
  /// kept the request from settling.
  mutating func takeUnheard() -> [Verb] {
    defer { unheard = [] }
    return unheard
  }

  /// Sets the state that the caller sees while and after handlers are dispatched.
  mutating func delivered() {
    if state != .cancelled { state = .finished }
  }

  /// A handler came after the outcome: the request is resumed while it is served.
  mutating func reopened() {
    if state == .finished { state = .resumed }
  }

  // MARK: Transitions

  /// Ends the request from outside. A task is ended first, so that its end is measured and reported.
  private mutating func abandon() -> Action {
    switch stage {
    case .ready, .admitting, .transferring: return enter(.cancelling, .cancelTransfer)
    case .cancelling: return .none
    default: return finish()
    }
  }

  private mutating func finish() -> Action {
    enter(.serializing(next: 0), .finish)
  }

  private mutating func enter(_ stage: Stage, _ action: Action) -> Action {
    self.stage = stage
    step &+= 1
    return action
  }
}
