import Foundation
import Testing
import WeirTestSupport

@testable import Weir

/// Requests with their attempts, several to one destination of few slots, through random interleavings of what callers,
/// servers and the caller's code do.
///
/// `WEIR_SIMULATION_SEEDS` says how many; 10,000 without it.
@Suite("AttemptMachine simulation", .timeLimit(.minutes(10)))
struct AttemptMachineSimulationTests {
  private static let seeds =
    ProcessInfo.processInfo.environment["WEIR_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 10_000

  @Test("No slot is lost, nothing moves without one, and every request settles once")
  func interleavings() {
    var seen: Set<String> = []
    for seed in 0..<Self.seeds {
      let world = World(seed: seed)
      world.run()
      #expect(world.violations.isEmpty, "seed \(seed): \(world.violations) after \(world.log)")
      if !world.violations.isEmpty { return }
      seen.formUnion(world.seen)
    }
    for what in ["waiting", "due", "onWire", "draining", "parked", "asking again", "refused parking", "queue full"] {
      #expect(seen.contains("cancel in \(what)") || seen.contains(what), "never: \(what)")
    }
  }
}

/// One destination and three requests to it, on one loop.
private final class World {
  var random: SeededRandom
  var admission: Admission<Int>
  /// What the admission's waiters stand for.
  var waiters: [Int: (client: Client, task: Int, question: AttemptMachine.Question)] = [:]
  var pending: [(Client, Client.Event)] = []
  var violations: [String] = []
  var log: [String] = []
  var seen: Set<String> = []
  private var clients: [Client] = []

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    admission = Admission(
      slots: 1 + Int(random.next() % 2), maximumWaiting: 1 + Int(random.next() % 2), maximumParked: 1)
    clients = (0..<3).map { Client(number: $0, world: self) }
  }

  func run() {
    for _ in 0..<90 { step() }
    for client in clients { client.verb(.resume) }
    // Whoever still waits is answered; nobody has new wishes.
    var budget = 2_000
    while clients.contains(where: { !$0.isSettled }), budget > 0 {
      budget -= 1
      if !pending.isEmpty { answer() } else { for client in clients { client.goToTheEnd() } }
    }
    while !pending.isEmpty { answer() }
    for client in clients where client.settles != 1 {
      violations.append("\(client.number) settled \(client.settles) times")
    }
    if admission.taken != 0 || admission.parked != 0 || admission.waiting != 0 {
      violations.append("left: \(admission.taken) slots, \(admission.parked) parked, \(admission.waiting) waiting")
    }
  }

  func chance(_ of: UInt64) -> Bool { random.next() % of == 0 }

  private func step() {
    if !pending.isEmpty, chance(2) { answer() } else { clients[Int(random.next() % 3)].act() }
    if admission.taken > admission.slots || admission.parked > admission.maximumParked {
      violations.append("too many: \(admission.taken) slots, \(admission.parked) parked")
    }
    for client in clients { client.check() }
  }

  private func answer() {
    let (client, event) = pending.remove(at: Int(random.next() % UInt64(pending.count)))
    log.append("\(client.number):\(event)")
    client.perform(event)
  }

  /// A slot is free for somebody: told by a job, as on the loop.
  func wake(_ entry: Admission<Int>.Entry?) {
    guard let entry, let waiter = waiters.removeValue(forKey: entry.waiter) else { return }
    pending.append((waiter.client, .slot(task: waiter.task, waiter.question)))
  }
}

/// One request: its machine, its present attempt's machine, and a shell of both that writes down what libcurl was told.
private final class Client {
  enum Event {
    case hear, creation(UInt32), retriers(UInt32), delay, value(Int, UInt32)
    case slot(task: Int, AttemptMachine.Question)
    case answer(task: Int, AttemptMachine.Holds), transferEnds(task: Int)
  }

  private struct Wire {
    var isReading = true
    var isSending = true
  }

  let number: Int
  private unowned let world: World
  private var request = RequestMachine()
  private var attempt: AttemptMachine?
  private var task = 0
  private var wire: Wire?
  private var hasNext = false
  private var ticket: (isFirst: Bool, number: UInt64)?
  private var failed = false
  private var attempts = 0
  private(set) var settles = 0

  var isSettled: Bool { settles > 0 }

  init(number: Int, world: World) {
    self.number = number
    self.world = world
  }

  // MARK: What happens

  /// Something that nobody asked for: the caller's verbs, the server's doings, time.
  func act() {
    switch world.random.next() % 16 {
    case 0, 1: verb(.resume)
    case 2: verb(.suspend)
    case 3 where world.chance(3): verb(.cancel)
    case 4 where world.chance(8): perform(request.fail())
    case 5: if world.chance(3) { steerTask() }
    case 6: if attempt?.wait == .first, world.chance(2) { admissionTimesOut() }
    case 7, 8, 9: serverAnswers()
    case 10, 11: serverEnds(failing: world.chance(3))
    default: receiverIsSlow()
    }
  }

  func verb(_ verb: RequestMachine.Verb) {
    world.log.append("\(number):\(verb)")
    if verb == .cancel { note() }
    if request.act(verb) { world.pending.append((self, .hear)) }
  }

  /// Who suspended the task goes on with it, and the server is done, whatever it was about to do.
  func goToTheEnd() {
    if attempt?.holds.contains(.suspended) == true, request.state == .resumed { apply { $0.resume() } }
    if wire?.isReading == true { serverEnds(failing: false) }
  }

  private func note() {
    guard let attempt else { return }
    world.seen.insert("cancel in \(attempt.stage)")
    if attempt.place == .parked { world.seen.insert("parked") }
    if attempt.wait == .again { world.seen.insert("asking again") }
  }

  private func steerTask() {
    guard wire != nil else { return }
    switch world.random.next() % 3 {
    case 0: apply { $0.suspend() }
    case 1: apply { $0.resume() }
    default: endTransfer()
    }
  }

  private func admissionTimesOut() {
    guard request.awaitsSlot else { return }
    apply { $0.withdraw() }
    apply { $0.end() }
    perform(request.rejected(request.step))
  }

  /// A head comes in: a redirect, a response that retriers are asked about, or one that an observer wants to see.
  private func serverAnswers() {
    guard wire?.isReading == true, request.stage == .transferring, !hasNext else { return }
    switch world.random.next() % 3 {
    case 0:
      hold(.redirect)
      if world.chance(2) { hasNext = true }
      apply { $0.park(for: .redirect) }
    case 1:
      apply { $0.hold(.retryDecision) }
      perform(request.headArrived())
      apply { $0.park(for: .retryDecision) }
    default:
      hold(.observer)
      apply { $0.park(for: .observer) }
    }
  }

  private func receiverIsSlow() {
    if wire?.isReading == true { hold(world.chance(2) ? .sink : .decoding) }
  }

  private func serverEnds(failing: Bool) {
    guard let wire, let holds = attempt?.holds else { return }
    // What the receiver has still to take may have been the last bytes.
    if wire.isReading || !holds.isEmpty && holds.isSubset(of: [.sink, .decoding]) { transferEnds(failing: failing) }
  }

  private func hold(_ reason: AttemptMachine.Holds) {
    apply { $0.hold(reason) }
    world.pending.append((self, .answer(task: task, reason)))
  }

  // MARK: Answers

  func perform(_ event: Event) {
    switch event {
    case .hear: if let heard = request.hear() { perform(heard.action) }
    case .creation(let step):
      if world.chance(8) { return perform(request.creationFailed(step)) }
      guard request.isWaiting(in: step) || request.stage == .creating else { return }
      create(step)
    case .retriers(let step):
      perform(request.decided(attempts < 4 && world.chance(2) ? .retry(after: 1) : .stop, step))
    case .delay: perform(request.delayElapsed())
    case .value(let index, let step): perform(request.serialized(index, asksRetriers: failed, step))
    case .slot(let task, let question): granted(task, question)
    case .answer(let task, let reason):
      if task == self.task { apply { $0.release(reason) } }
    case .transferEnds(let task):
      if task == self.task, wire != nil { transferEnds(failing: true) }
    }
  }

  private func create(_ step: UInt32) {
    guard request.stage == .creating, request.step == step else { return }
    attempt = AttemptMachine()
    task += 1
    attempts += 1
    (wire, hasNext, failed) = (nil, false, false)
    perform(request.created(step))
  }

  private func granted(_ task: Int, _ question: AttemptMachine.Question) {
    guard task == self.task, attempt?.awaits(question) == true else { return world.wake(world.admission.release()) }
    if attempt?.wait == .first, !request.admitted(request.step) { return world.wake(world.admission.release()) }
    ticket = nil
    apply { $0.granted() }
  }

  private func transferEnds(failing: Bool) {
    wire = nil
    failed = failing
    if attempt?.transferEnded(failed: failing) == true { return }
    conclude()
  }

  private func conclude() {
    if hasNext, request.stage == .transferring {
      hasNext = false
      apply { $0.redirected() }
    } else {
      ended()
    }
  }

  private func ended() {
    apply { $0.end() }
    perform(request.transferEnded(failed: failed))
  }

  /// What a cancelled task does.
  private func endTransfer() {
    hasNext = false
    if attempt?.stage == .draining { failed = true }
    apply { $0.cancel() }
  }

  // MARK: What the machines say

  private func perform(_ action: RequestMachine.Action) {
    switch action {
    case .none: break
    case .create, .retry:
      attempt = nil
      world.pending.append((self, .creation(request.step)))
    case .start: apply { $0.admit() }
    case .hold: apply { $0.withdraw() }
    case .suspendTransfer: apply { $0.suspend() }
    case .resumeTransfer: apply { $0.resume() }
    case .cancelTransfer:
      if attempt?.stage == .ended { perform(request.transferEnded(failed: true)) } else { endTransfer() }
    case .askRetriers: world.pending.append((self, .retriers(request.step)))
    case .continueTransfer, .discardTransfer: apply { $0.release(.retryDecision) }
    case .wait: world.pending.append((self, .delay))
    case .finish, .nextHandler:
      if action == .finish { _ = request.finishing(hasHandlers: true) }
      perform(request.nextHandler(of: 1))
    case .serialize(let index): world.pending.append((self, .value(index, request.step)))
    case .settle:
      settles += 1
      request.delivered()
    }
  }

  private func apply(_ input: (inout AttemptMachine) -> AttemptMachine.Actions) {
    guard var machine = attempt else { return }
    let actions = input(&machine)
    attempt = machine
    perform(actions)
  }

  private func perform(_ actions: AttemptMachine.Actions) {
    if actions.contains(.withdraw) { withdraw() }
    if actions.contains(.release) { world.wake(world.admission.release()) }
    if actions.contains(.unpark) { world.admission.unpark() }
    if actions.contains(.pauseReceiving) { wire?.isReading = false }
    if actions.contains(.pauseSending) { wire?.isSending = false }
    if actions.contains(.park) { park() }
    if actions.contains(.ask) { ask(isFirst: true) }
    if actions.contains(.askAgain) { ask(isFirst: false) }
    if actions.contains(.resumeSending) { wire?.isSending = true }
    if actions.contains(.startHop) { startHop() }
    if actions.contains(.resumeReceiving) { wire?.isReading = true }
    if actions.contains(.cancelTransfer), wire != nil { world.pending.append((self, .transferEnds(task: task))) }
    if actions.contains(.conclude) { conclude() }
    if actions.contains(.end) {
      failed = true
      ended()
    }
  }

  private func startHop() {
    if wire != nil { world.violations.append("\(number) starts a hop while one is on the wire") }
    if attempt?.place != .slot { world.violations.append("\(number) starts a hop without a slot") }
    if attempt?.holds.contains(.suspended) == true { world.violations.append("\(number) starts a hop suspended") }
    if request.stage != .transferring { world.violations.append("\(number) starts a hop while \(request.stage)") }
    attempt?.hopStarts()
    wire = Wire()
  }

  private func park() {
    guard case .parked(let next) = world.admission.park() else {
      world.seen.insert("refused parking")
      return
    }
    world.wake(next)
    apply { $0.parked() }
  }

  private func ask(isFirst: Bool) {
    guard let question = attempt?.question else { return }
    let key = world.waiters.count &+ Int(question) &* 1_000 &+ number &* 1_000_000 &+ task &* 10_000_000
    switch isFirst ? world.admission.ask(key) : world.admission.askAgain(key) {
    case .admitted: granted(task, question)
    case .waiting(let number):
      world.waiters[key] = (self, task, question)
      ticket = (isFirst, number)
    case .queueFull:
      world.seen.insert("queue full")
      apply { $0.end() }
      perform(request.rejected(request.step))
    }
  }

  private func withdraw() {
    if let ticket {
      if ticket.isFirst {
        world.admission.withdraw(ticket.number)
      } else {
        world.admission.withdrawAgain(ticket.number)
      }
    }
    ticket = nil
  }

  /// What must hold whenever nobody is in the middle of a step.
  func check() {
    guard let attempt, let wire else { return }
    if wire.isReading, !attempt.reads || attempt.place != .slot {
      world.violations.append("\(number) reads in \(attempt)")
    }
    if wire.isSending, !attempt.sends { world.violations.append("\(number) sends in \(attempt)") }
  }
}
