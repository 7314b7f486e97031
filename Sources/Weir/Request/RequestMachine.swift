/// The life of one request as a value: its stage, the verbs the caller may use, the next action.
///
/// The caller's verbs (`resume`, `suspend`, `cancel`) change the *state* at once, on any thread; the loop hears of them
/// later, in their order. Only the loop changes the *stage*: each of its inputs returns the next action. The machine
/// has no lock, clock or I/O. A stage that waits for an answer from elsewhere has a *step* number, which the answer
/// must bring back; an answer to an earlier step is ignored. After `cancel()` nothing moves until the loop has heard of
/// it.
///
/// ```
/// idle ─► creating ─► ready ─► admitting ─► transferring ─► deciding ─► delaying ─► creating …
///             └──────────────────┴───────────────┴─► deciding ─► serializing ─► settled
///         ready, admitting, transferring ─► cancelling ─► serializing
/// ```
/// `cancel` and `fail` lead from every stage before `settled` to `serializing`, through `cancelling` if there is a
/// task.
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

  /// An action for the shell.
  enum Action: Equatable, Sendable {
    case none
    /// Build the URL request.
    case create
    /// Ask for admission and start the transfer.
    case start
    /// Leave the queue for a slot, and announce that the task exists but is suspended.
    case hold
    case suspendTransfer
    case resumeTransfer
    /// End the task; its end is reported as usual.
    case cancelTransfer
    /// Ask the retriers about the error.
    case askRetriers
    /// Retry after this many seconds.
    case wait(Double)
    /// Begin the next attempt.
    case retry
    /// Announce that the request is over except for its handlers.
    case finish
    /// Make the value of one handler.
    case serialize(Int)
    /// Go on to the next handler.
    case nextHandler
    /// Set the outcome and deliver.
    case settle
  }

  /// The retriers' answer, after the deadline and the retry budget were applied.
  enum Decision: Equatable, Sendable {
    case stop
    /// As `stop`; in addition, retriers are not asked about any later failure.
    case refuse
    case retry(after: Double)
  }

  /// The state that the caller sees.
  private(set) var state = State.initialized
  private(set) var stage = Stage.idle
  private(set) var step: Step = 0
  /// The state that the loop has heard of.
  private var heard = State.initialized
  /// The verbs that the loop has still to hear of.
  private var unheard: [Verb] = []
  private var hasFinished = false
  /// Whether the request was ended from outside or rejected, so that neither retriers nor serializers are asked.
  private(set) var isBeyondRetry = false
  /// Whether retries were refused, so that retriers are not asked again.
  private var isRefusedRetries = false

  /// Whether setup has begun and the outcome is open.
  var isActive: Bool { stage != .idle && stage != .settled }
  var isSettled: Bool { stage == .settled }
  var isSuspended: Bool { heard == .suspended }
  /// Whether an admission timeout may end the request; false if the caller has suspended or cancelled it meanwhile.
  var awaitsSlot: Bool { stage == .admitting && state == .resumed }

  /// Whether no pending answer can change the outcome any more.
  var isOver: Bool { state == .cancelled || isBeyondRetry || isSettled }

  /// Whether the retriers are deciding if there is another attempt.
  var isDeciding: Bool {
    switch stage {
    case .deciding, .decidingSerializer: !isInterrupted
    default: false
    }
  }

  func isWaiting(in step: Step) -> Bool { self.step == step && !isInterrupted }

  /// Whether the caller has cancelled and the loop has not heard of it yet.
  private var isInterrupted: Bool { state == .cancelled && heard != .cancelled }

  // MARK: The caller

  /// Changes the state if the state allows the verb; the loop then has to `hear` of it.
  mutating func act(_ verb: Verb) -> Bool {
    // A handler that comes late sets a settled request to `resumed` again, but there is nothing left to steer.
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

  // MARK: Verbs on the loop

  /// The earliest verb that the loop has not heard of, and the action it leads to.
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
    // A suspended request waits for no slot, so that no admission timeout ends it.
    case .admitting: return enter(.ready, .hold)
    default: return .none
    }
  }

  private mutating func cancelled() -> Action {
    heard = .cancelled
    return stage == .settled ? .none : abandon()
  }

  /// Sets up a request that was not resumed yet (`RequestSetup.eager`).
  mutating func prepare() -> Action {
    guard stage == .idle, state != .cancelled else { return .none }
    return enter(.creating, .create)
  }

  // MARK: The session

  /// Ends the request at once, as its deadline passed or its session is released. Retriers are not asked.
  mutating func fail() -> Action {
    guard stage != .settled, state != .cancelled else { return .none }
    isBeyondRetry = true
    return abandon()
  }

  // MARK: The loop

  mutating func created(_ step: Step) -> Action {
    guard self.step == step, stage == .creating else { return .none }
    // If a cancel is still unheard, the loop will find a task and has to end it.
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

  /// The destination admitted the attempt. False: the attempt does not wait for a slot any more.
  mutating func admitted(_ step: Step) -> Bool {
    guard isWaiting(in: step), stage == .admitting else { return false }
    _ = enter(.transferring, .none)
    return true
  }

  /// The destination rejected the attempt; retriers are not asked.
  mutating func rejected(_ step: Step) -> Action {
    guard isWaiting(in: step), stage == .admitting || stage == .transferring else { return .none }
    isBeyondRetry = true
    return finish()
  }

  /// The attempt is over, perhaps before it reached the wire.
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

  /// The delay before the retry has passed.
  mutating func delayElapsed() -> Action {
    guard stage == .delaying, !isInterrupted else { return .none }
    hasFinished = false
    return enter(.creating, .retry)
  }

  /// Whether to announce `requestDidFinish`: once per run through the pipeline. Without handlers the request is
  /// finished.
  mutating func finishing(hasHandlers: Bool) -> Bool {
    if !hasHandlers { delivered() }
    defer { hasFinished = true }
    return !hasFinished
  }

  /// Makes the next handler's value, or settles if every handler has one.
  mutating func nextHandler(of count: Int) -> Action {
    guard case .serializing(let next) = stage, !isInterrupted else { return .none }
    return next < count ? .serialize(next) : enter(.settled, .settle)
  }

  /// A handler's value was made.
  mutating func serialized(_ index: Int, asksRetriers: Bool, _ step: Step) -> Action {
    guard isWaiting(in: step), stage == .serializing(next: index) else { return .none }
    if asksRetriers, !isBeyondRetry, !isRefusedRetries, state != .cancelled {
      return enter(.decidingSerializer(index), .askRetriers)
    }
    return enter(.serializing(next: index + 1), .nextHandler)
  }

  /// Takes the unheard verbs. They change nothing any more: a cancel among them would have kept the request from
  /// settling.
  mutating func takeUnheard() -> [Verb] {
    defer { unheard = [] }
    return unheard
  }

  /// Sets the state that the caller sees during and after the dispatch of the handlers.
  mutating func delivered() {
    if state != .cancelled { state = .finished }
  }

  /// A handler came after the outcome; the request counts as resumed while the handler is served.
  mutating func reopened() {
    if state == .finished { state = .resumed }
  }

  // MARK: Transitions

  /// Ends the request from outside. If there is a task, it is ended first, so that its end is measured and reported.
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
