/// The life of one request as a value: its exchange, the verbs the caller may use, its handlers' values, the next action.
///
/// The caller's verbs (`resume`, `suspend`, `cancel`) change the *state* at once, on any thread; the loop hears of them
/// later, in their order. Only the loop changes the *stage*: each of its inputs returns the next action. The machine
/// has no lock, clock or I/O. A stage that waits for an answer from elsewhere has a *step* number, which the answer
/// must bring back; an answer to an earlier step is ignored. After `cancel()` nothing moves until the loop has heard of
/// it. The exchange's stages and actions are told apart by patterns, which cost no call into its module.
///
/// ```
/// idle ─► creating ─► ready ─► admitting ─► transferring ─► deciding ─► delaying ─► creating …
///             └──────────────────┴───────────────┴─► deciding ─► serializing ─► settled
///         ready, admitting, transferring ─► cancelling ─► serializing
/// ```
/// The way from `creating` to the end of the attempts is the exchange's (``ExchangeMachine``). `cancel` and `fail` lead
/// from every stage before `settled` to `serializing`, through `cancelling` if there is a task.
struct RequestMachine: Sendable {
  typealias State = Request.State
  typealias Step = ExchangeMachine.Step

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
    /// The exchange's next action.
    case exchange(ExchangeMachine.Action)
    /// Leave the queue for a slot, and announce that the task exists but is suspended.
    case hold
    case suspendTransfer
    case resumeTransfer
    /// Announce that the request is over except for its handlers.
    case finish
    /// Make the value of one handler.
    case serialize(Int)
    /// Go on to the next handler.
    case nextHandler
    /// Set the outcome and deliver.
    case settle
  }

  /// How far the task of the present attempt has come.
  private enum Task {
    case ready, admitting, transferring
  }

  /// The state that the caller sees.
  private(set) var state = State.initialized
  private(set) var exchange = ExchangeMachine()
  private var task = Task.ready
  /// The handler whose value is made next, once the exchange is over.
  private var handler = 0
  /// Whether the retriers are asked about that handler's value.
  private var isJudgingValue = false
  private(set) var isSettled = false
  /// The steps that are not the exchange's.
  private var ownSteps: Step = 0
  /// The state that the loop has heard of.
  private var heard = State.initialized
  /// The verbs that the loop has still to hear of.
  private var unheard: [Verb] = []
  private var hasFinished = false
  /// Whether the request was ended from outside or rejected, so that neither retriers nor serializers are asked.
  private(set) var isBeyondRetry = false

  var step: Step { exchange.step &+ ownSteps }

  var stage: Stage {
    switch exchange.stage {
    case .idle: .idle
    case .preparing: .creating
    case .trying, .discarding, .passing:
      switch task {
      case .ready: .ready
      case .admitting: .admitting
      case .transferring: .transferring
      }
    case .ending: .cancelling
    case .deciding: isJudgingValue ? .decidingSerializer(handler) : .deciding
    case .delaying: .delaying
    case .over: isSettled ? .settled : .serializing(next: handler)
    }
  }

  /// Whether setup has begun and the outcome is open.
  var isActive: Bool { if case .idle = exchange.stage { false } else { !isSettled } }
  var isSuspended: Bool { heard == .suspended }
  /// Whether an admission timeout may end the request; false if the caller has suspended or cancelled it meanwhile.
  var awaitsSlot: Bool { if case .admitting = stage { state == .resumed } else { false } }
  /// Whether the attempt is on the wire, or suspended there.
  var isTransferring: Bool { if case .trying = exchange.stage { task == .transferring } else { false } }

  /// Whether no pending answer can change the outcome any more.
  var isOver: Bool { state == .cancelled || isBeyondRetry || isSettled }

  /// Whether the retriers are deciding if there is another attempt.
  var isDeciding: Bool { if case .deciding = exchange.stage { !isInterrupted } else { false } }

  func isWaiting(in step: Step) -> Bool { self.step == step && !isInterrupted }

  /// Whether the caller has cancelled and the loop has not heard of it yet.
  private var isInterrupted: Bool { exchange.isInterrupted }

  // MARK: The caller

  /// Changes the state if the state allows the verb; the loop then has to `hear` of it.
  mutating func act(_ verb: Verb) -> Bool {
    // A handler that comes late sets a settled request to `resumed` again, but there is nothing left to steer.
    guard !isSettled else { return false }
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
      exchange.interrupt()
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
    case .idle: return tell(exchange.begin())
    case .ready: return moves(to: .admitting, .exchange(.attempt))
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
    case .admitting: return moves(to: .ready, .hold)
    default: return .none
    }
  }

  private mutating func cancelled() -> Action {
    heard = .cancelled
    return isSettled ? .none : abandon()
  }

  /// Sets up a request that was not resumed yet (`RequestSetup.eager`).
  mutating func prepare() -> Action {
    guard stage == .idle, state != .cancelled else { return .none }
    return tell(exchange.begin())
  }

  // MARK: The session

  /// Ends the request at once, as its deadline passed or its session is released. Retriers are not asked.
  mutating func fail() -> Action {
    guard !isSettled, state != .cancelled else { return .none }
    isBeyondRetry = true
    return abandon()
  }

  // MARK: The loop

  /// Passes an input to the exchange.
  mutating func change<Answer>(_ input: (inout ExchangeMachine) -> Answer) -> Answer { input(&exchange) }

  /// An attempt begins.
  mutating func begins() {
    task = .ready
    isJudgingValue = false
    hasFinished = false
  }

  mutating func created(_ step: Step) -> Action {
    guard self.step == step, case .attempt = exchange.prepared() else { return .none }
    // If a cancel is still unheard, the loop will find a task and has to end it.
    if isInterrupted { return .none }
    switch heard {
    case .resumed: return moves(to: .admitting, .exchange(.attempt))
    case .suspended: return .hold
    default: return .none
    }
  }

  mutating func creationFailed(_ step: Step) -> Action {
    guard self.step == step else { return .none }
    return tell(exchange.preparationFailed())
  }

  /// The destination admitted the attempt. False: the attempt does not wait for a slot any more.
  mutating func admitted(_ step: Step) -> Bool {
    guard isWaiting(in: step), case .admitting = stage else { return false }
    _ = moves(to: .transferring, .none)
    return true
  }

  /// The destination rejected the attempt; retriers are not asked.
  mutating func rejected(_ step: Step) -> Action {
    guard isWaiting(in: step), case .trying = exchange.stage, task != .ready else { return .none }
    isBeyondRetry = true
    return tell(exchange.rejected())
  }

  /// The attempts are over: the handlers' values are made, or go on being made after a question about one of them.
  mutating func exchangeIsOver() -> Action {
    guard isJudgingValue else {
      handler = 0
      return .finish
    }
    isJudgingValue = false
    handler += 1
    return .nextHandler
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
    guard case .over = exchange.stage, !isSettled, !isInterrupted else { return .none }
    if handler < count { return .serialize(handler) }
    isSettled = true
    ownSteps &+= 1
    return .settle
  }

  /// A handler's value was made.
  mutating func serialized(_ index: Int, asksRetriers: Bool, _ step: Step) -> Action {
    guard isWaiting(in: step), case .serializing(index) = stage else { return .none }
    if asksRetriers, !isBeyondRetry, state != .cancelled, exchange.asks {
      isJudgingValue = true
      return tell(exchange.reopen())
    }
    handler += 1
    ownSteps &+= 1
    return .nextHandler
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
    isJudgingValue = false
    guard case .over = exchange.stage else { return tell(exchange.end()) }
    // The values that were made are made once more.
    _ = exchange.end()
    handler = 0
    ownSteps &+= 1
    return .finish
  }

  private func tell(_ action: ExchangeMachine.Action) -> Action {
    if case .none = action { .none } else { .exchange(action) }
  }

  private mutating func moves(to task: Task, _ action: Action) -> Action {
    self.task = task
    ownSteps &+= 1
    return action
  }
}
