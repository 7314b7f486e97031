@testable import Weir
@testable import WeirTransport

// The actions of a request's machines, carried out by its shell.
extension AttemptMachineSimulationTests.Client {
  var observer: (any TransportObserver)? { nil }
  var method: String? { nil }
  var path: String? { nil }
  var operation: NamedOperation? { nil }
  var sampledTrace: TraceContext? { nil }

  var machine: ExchangeMachine { request.exchange }
  func change<Answer>(_ input: (inout ExchangeMachine) -> Answer) -> Answer { request.change(input) }

  func prepare() {
    request.begins()
    world.pending.append((self, .creation(request.step)))
  }

  func admit() { if let attempt { apply(attempt) { $0.admit() } } }

  func askForVerdict() { world.pending.append((self, .retriers(request.step))) }

  func forgetAttempt() { attempt = nil }

  func cancelAttempt() {
    guard let attempt else { return }
    if attempt.machine.stage == .ended {
      perform(change { $0.attemptEnded(failed: true) })
    } else {
      endTransfer(attempt)
    }
  }

  func settle() { perform(request.exchangeIsOver()) }

  func wait(_ seconds: Double, for event: ExchangeTimer) {
    if event == .retry { world.pending.append((self, .delay)) }
  }

  func stopWaiting(for event: ExchangeTimer) {}

  func perform(_ action: RequestMachine.Action) {
    switch action {
    case .none: break
    case .exchange(let action): perform(action)
    case .hold: if let attempt { apply(attempt) { $0.withdraw() } }
    case .suspendTransfer: for run in running { apply(run) { $0.suspend() } }
    case .resumeTransfer: for run in running { apply(run) { $0.resume() } }
    case .finish, .nextHandler:
      if action == .finish { _ = request.finishing(hasHandlers: true) }
      perform(request.nextHandler(of: 1))
    case .serialize(let index): world.pending.append((self, .value(index, request.step)))
    case .settle:
      if !rivals.isEmpty { world.violations.append("\(number) settles with attempts under way") }
      settles += 1
      request.delivered()
      // A cancel always wins.
      if request.state != (wasCancelled ? .cancelled : .finished) {
        world.violations.append("\(number) ended as \(request.state)")
      }
    }
  }

  func apply(_ run: Run, _ input: (inout AttemptMachine) -> AttemptMachine.Actions) {
    perform(input(&run.machine), run)
  }

  func perform(_ actions: AttemptMachine.Actions, _ run: Run) {
    if actions.contains(.withdraw) { withdraw(run) }
    if actions.contains(.release) { world.wake(world.admission.release()) }
    if actions.contains(.unpark) { world.admission.unpark() }
    if actions.contains(.pauseReceiving) { run.wire?.isReading = false }
    if actions.contains(.pauseSending) { run.wire?.isSending = false }
    if actions.contains(.park) { park(run) }
    if actions.contains(.ask) { ask(run, isFirst: true) }
    if actions.contains(.askAgain) { ask(run, isFirst: false) }
    if actions.contains(.resumeSending) { run.wire?.isSending = true }
    if actions.contains(.startHop) { startHop(run) }
    if actions.contains(.resumeReceiving) { run.wire?.isReading = true }
    if actions.contains(.cancelTransfer), run.wire != nil { world.pending.append((self, .transferEnds(run))) }
    if actions.contains(.conclude) { conclude(run) }
    if actions.contains(.end) {
      run.failed = true
      ended(run)
    }
  }

  func startHop(_ run: Run) {
    if run.wire != nil { world.violations.append("\(number) starts a hop while one is on the wire") }
    if run.machine.place != .slot { world.violations.append("\(number) starts a hop without a slot") }
    if run.machine.holds.contains(.suspended) { world.violations.append("\(number) starts a hop suspended") }
    if !request.isTransferring { world.violations.append("\(number) starts a hop while \(request.stage)") }
    if !run.machine.hasStarted { wentOnWire(run) }
    run.machine.hopStarts()
    run.wire = Wire()
  }

  func park(_ run: Run) {
    let (isParked, next) = world.admission.park()
    guard isParked else {
      world.seen.insert("refused parking")
      return
    }
    world.wake(next)
    apply(run) { $0.parked() }
  }

  func ask(_ run: Run, isFirst: Bool) {
    let question = run.machine.question
    let key = world.waiters.count &+ Int(question) &* 1_000 &+ number &* 1_000_000 &+ run.number &* 10_000_000
    switch isFirst ? world.admission.ask(key) : world.admission.askAgain(key) {
    case .admitted: granted(run, question)
    case .waiting(let number):
      world.waiters[key] = (self, run, question)
      run.ticket = (isFirst, number)
    case .queueFull:
      world.seen.insert("queue full")
      apply(run) { $0.end() }
      perform(request.rejected(request.step))
    }
  }

  func withdraw(_ run: Run) {
    if let ticket = run.ticket {
      if ticket.isFirst {
        world.admission.withdraw(ticket.number)
      } else {
        world.admission.withdrawAgain(ticket.number)
      }
    }
    run.ticket = nil
  }

  /// What must hold whenever nobody is in the middle of a step.
  func check() {
    for run in running {
      if run.isVacated, run.machine.place != .outside || run.machine.wait != nil {
        world.violations.append(
          "\(number) wants or has a slot while its receiver takes what is there: \(run.machine)")
      }
      guard let wire = run.wire else { continue }
      if wire.isReading, !run.machine.reads || run.machine.place != .slot {
        world.violations.append("\(number) reads in \(run.machine)")
      }
      if wire.isSending, !run.machine.sends { world.violations.append("\(number) sends in \(run.machine)") }
    }
  }
}

extension AttemptMachineSimulationTests.Client {
  enum Event {
    case hear, creation(UInt32), retriers(UInt32), delay, value(Int, UInt32), hedge(UInt32)
    case slot(Run, AttemptMachine.Question)
    case answer(Run, AttemptMachine.Holds), transferEnds(Run)
    case parkForSink(Run), receiverDone(Run)
  }

  /// What takes the response's body.
  enum Receiver: UInt64 {
    /// Memory: done when the transfer is.
    case memory
    /// Handlers who may be slow; the end waits for them, without a slot.
    case stream
    /// A file, which gets its place when the transfer is over.
    case file
  }

  struct Wire {
    var isReading = true
    var isSending = true
  }

  /// One attempt.
  final class Run: HedgeRunner {
    let number: Int
    private unowned let client: AttemptMachineSimulationTests.Client
    var machine = AttemptMachine()
    var wire: Wire?
    var hasNext = false
    var hasHead = false
    var ticket: (isFirst: Bool, number: UInt64)?
    var failed = false
    var isLost = false
    /// Whether the transfer is over, and the attempt's end waits.
    var hasEnding = false
    /// Of a file: whether the end waits for its place; whether it has waited.
    var isAwaited = false
    var isReceived = false
    /// Whether the receiver wants no more.
    var hasGivenUp = false
    /// Whether its end has waited for handlers.
    var hasGivenUpSlot = false

    init(number: Int, of client: AttemptMachineSimulationTests.Client) {
      self.number = number
      self.client = client
    }

    func beginsWithSlot() { machine.begins() }

    func startBesideAnother() { client.apply(self) { $0.granted() } }

    func decideHedge(_ event: HedgeEvent) {}

    /// Whether it waits for nothing but code that may want its slot.
    var isVacated: Bool { machine.stage == .draining && hasGivenUpSlot }
  }
}
