import Foundation
import Testing
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

extension AttemptMachineSimulationTests {
  /// One request: its machine, those of its attempts, and what libcurl was told.
  final class Client: ExchangeRun {
    let number: Int
    let receiver: Receiver
    unowned let world: World
    var request = RequestMachine()
    let admission = ExchangeAdmission(DestinationControls(retryBudget: nil))
    let hedge: HedgePlan? = HedgePlan(delay: .seconds(1), limit: 2)
    var attempt: Run?
    var rivals: [Run] = []
    var grantedReason: RetryReason?
    var settles = 0
    private(set) var wasCancelled = false

    var isSettled: Bool { settles > 0 }

    init(number: Int, world: World) {
      self.number = number
      self.world = world
      receiver = Receiver(rawValue: world.random.next() % 3) ?? .memory
    }

    var running: [Run] { (attempt.map { [$0] } ?? []) + rivals }

    // MARK: What happens

    /// Something that nobody asked for: the caller's verbs, the server's doings, time.
    func act() {
      let any = running.isEmpty ? nil : running[Int(world.random.next() % UInt64(running.count))]
      switch world.random.next() % 19 {
      case 0, 1: verb(.resume)
      case 2: verb(.suspend)
      case 3 where world.chance(3): verb(.cancel)
      case 4 where world.chance(8): perform(request.fail())
      case 5: if let any, world.chance(3) { steerTask(any) }
      case 6: if attempt?.machine.wait == .first, world.chance(2) { admissionTimesOut() }
      case 7, 8, 9: if let any { serverAnswers(any) }
      case 10, 11: if let any { serverEnds(any, failing: world.chance(3)) }
      case 12, 13: hedgeIsDue()
      case 14: if let any, world.chance(3) { receiverFails(any) }
      default: if let any { receiverIsSlow(any) }
      }
    }

    func verb(_ verb: RequestMachine.Verb) {
      world.log.append("\(number):\(verb)")
      if verb == .cancel { note() }
      guard request.act(verb) else { return }
      if verb == .cancel { wasCancelled = true }
      world.pending.append((self, .hear))
    }

    /// Who suspended the task goes on with it, and the server is done, whatever it was about to do.
    func goToTheEnd() {
      for run in running {
        if run.machine.holds.contains(.suspended), request.state == .resumed { apply(run) { $0.resume() } }
        if run.wire?.isReading == true { serverEnds(run, failing: false) }
      }
    }

    func note() {
      world.seen.insert("cancel in request's \("\(request.stage)".prefix { $0 != "(" })")
      guard let machine = attempt?.machine else { return }
      world.seen.insert("cancel in \(machine.stage)")
      if machine.place == .parked { world.seen.insert("parked") }
      if machine.place == .parked, machine.holds.contains(.sink) { world.seen.insert("cancel in parked for sink") }
      if attempt?.isAwaited == true { world.seen.insert("cancel in awaited") }
      if attempt?.isVacated == true { world.seen.insert("cancel in vacated") }
      if machine.wait == .again { world.seen.insert("asking again") }
      if !rivals.isEmpty { world.seen.insert("cancel in race") }
    }

    func steerTask(_ run: Run) {
      guard run.machine.hasStarted else { return }
      switch world.random.next() % 3 {
      case 0: apply(run) { $0.suspend() }
      case 1: apply(run) { $0.resume() }
      default: if run.wire != nil { endTransfer(run) }
      }
    }

    func admissionTimesOut() {
      guard request.awaitsSlot, let run = attempt else { return }
      apply(run) { $0.withdraw() }
      apply(run) { $0.end() }
      perform(request.rejected(request.step))
    }

    /// A head comes in: a redirect, one that an observer wants to see, or one that is of no use to a file.
    func serverAnswers(_ run: Run) {
      guard run.wire?.isReading == true, request.isTransferring, !run.hasNext, !run.hasHead else { return }
      switch world.random.next() % 3 {
      case 0:
        hold(run, .redirect)
        if world.chance(2) { run.hasNext = true }
        apply(run) { $0.park(for: .redirect) }
      case 1 where receiver == .file:
        guard headArrives(run) else { return }
        world.seen.insert("sends again")
        run.hasNext = true
      default:
        guard headArrives(run) else { return }
        hold(run, .observer)
        apply(run) { $0.park(for: .observer) }
      }
    }

    func receiverIsSlow(_ run: Run) {
      guard run.wire?.isReading == true, run.hasHead else { return }
      hold(run, world.chance(2) ? .sink : .decoding)
      if receiver == .stream, run.machine.holds.contains(.sink) { world.pending.append((self, .parkForSink(run))) }
    }

    /// The body can't be written, or a handler has thrown.
    func receiverFails(_ run: Run) {
      guard run.hasHead, !run.hasGivenUp, !run.hasNext, run.machine.stage == .onWire || run.machine.stage == .draining
      else { return }
      switch receiver {
      case .memory: return
      case .stream:
        run.hasGivenUp = true
        run.failed = true
        endTransfer(run)
      case .file:
        run.hasGivenUp = true
        run.isAwaited = false
        if run.wire == nil { conclude(run) } else { world.pending.append((self, .transferEnds(run))) }
      }
      world.seen.insert("receiver fails")
    }

    func serverEnds(_ run: Run, failing: Bool) {
      guard let wire = run.wire else { return }
      let holds = run.machine.holds
      // What the receiver has still to take may have been the last bytes.
      guard wire.isReading || !holds.isEmpty && holds.isSubset(of: [.sink, .decoding]) else { return }
      if !failing, !run.hasNext, !run.hasHead, !headArrives(run) { return }
      transferEnds(run, failing: failing)
    }

    func hold(_ run: Run, _ reason: AttemptMachine.Holds) {
      apply(run) { $0.hold(reason) }
      world.pending.append((self, .answer(run, reason)))
    }

    // MARK: Second attempts

    var mayRunTwice: Bool { request.isTransferring && !request.isSuspended }

    func prepareRival() {
      if world.chance(2) { beginRival(request.step) } else { world.pending.append((self, .hedge(request.step))) }
    }

    func takesRoomForRival() -> Bool { world.admission.take() }

    func beginRival(_ step: UInt32) {
      guard request.isWaiting(in: step), !request.isSuspended else { return }
      startRival { number, keep in
        world.seen.insert("hedge")
        keep(Run(number: number, of: self))
      }
    }

    /// A final head comes in; whether its attempt goes on with it.
    func headArrives(_ run: Run) -> Bool {
      run.hasHead = true
      let (isFirst, hasRivals) = (run === attempt, !rivals.isEmpty)
      guard goesOn(run, status: world.chance(3) ? 503 : 200) else {
        world.seen.insert(isFirst ? "first out" : "hedge out")
        lose(run)
        return false
      }
      if hasRivals { world.seen.insert(isFirst ? "first wins" : "hedge wins") }
      return true
    }

    func abandon(_ rival: Run) { lose(rival) }

    func lose(_ run: Run) {
      run.isLost = true
      run.wire = nil
      apply(run) { $0.end() }
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
        guard request.isWaiting(in: step) else { return }
        let wantsRetry = machine.attempts < 4 && world.chance(2)
        judged(wantsRetry ? .retry(after: 1, source: .backoff) : .deny(.policy), dueTo: RetryReason(rawValue: "503"))
      case .delay: retryIsDue()
      case .value(let index, let step): perform(request.serialized(index, asksRetriers: attempt?.failed ?? true, step))
      case .hedge(let step): beginRival(step)
      case .slot(let run, let question): granted(run, question)
      case .answer(let run, let reason): if isKnown(run) { apply(run) { $0.release(reason) } }
      case .transferEnds(let run): if isKnown(run), run.wire != nil { transferEnds(run, failing: true) }
      case .parkForSink(let run):
        guard isKnown(run), run === attempt else { return }
        apply(run) { $0.park(for: .sink) }
        if run.machine.place == .parked { world.seen.insert("parked for sink") }
      case .receiverDone(let run):
        guard isKnown(run), run.isAwaited else { return }
        run.isAwaited = false
        run.isReceived = true
        if world.chance(4) { run.failed = true }
        conclude(run)
      }
    }

    func isKnown(_ run: Run) -> Bool { running.contains { $0 === run } }

    func create(_ step: UInt32) {
      guard request.stage == .creating, request.step == step else { return }
      attempt = Run(number: machine.present, of: self)
      perform(request.created(step))
    }

    func granted(_ run: Run, _ question: AttemptMachine.Question) {
      guard isKnown(run), run.machine.awaits(question) else { return world.wake(world.admission.release()) }
      if run.machine.wait == .first {
        guard request.admitted(request.step) else { return world.wake(world.admission.release()) }
        if wasCancelled { world.violations.append("\(number) starts after a cancel") }
      }
      run.ticket = nil
      apply(run) { $0.granted() }
    }

    func transferEnds(_ run: Run, failing: Bool) {
      run.wire = nil
      run.failed = failing || run.hasGivenUp
      let waits = awaitsSink(run)
      if run.machine.transferEnded(failed: failing && !waits) {
        run.hasEnding = true
        return
      }
      followOrEnd(run)
    }

    func conclude(_ run: Run) {
      guard !run.isAwaited, run.hasEnding else { return }
      if awaitsSink(run) { return }
      followOrEnd(run)
    }

    func followOrEnd(_ run: Run) {
      let goesOn = run.hasNext && request.isTransferring
      run.hasEnding = !goesOn && awaitsReceiver(run)
      if run.hasEnding { return }
      run.hasNext = false
      if goesOn {
        run.hasHead = false
        run.hasGivenUpSlot = false
        apply(run) { $0.redirected() }
      } else {
        ended(run)
      }
    }

    /// Whether handlers have not taken all.
    func awaitsSink(_ run: Run) -> Bool {
      guard receiver == .stream, run === attempt, !run.hasGivenUp, request.isTransferring, world.chance(2)
      else { return false }
      if !run.machine.holds.contains(.sink) { world.pending.append((self, .answer(run, .sink))) }
      apply(run) { $0.hold(.sink) }
      apply(run) { $0.vacate() }
      run.hasGivenUpSlot = true
      world.seen.insert("vacated")
      return true
    }

    /// Whether the file gets its place first, or is removed. Asked again, by one that was ended meanwhile, it has been.
    func awaitsReceiver(_ run: Run) -> Bool {
      guard receiver == .file, run.hasHead, !run.isReceived else { return false }
      run.isReceived = true
      guard !run.hasGivenUp, !world.chance(4) else { return false }
      run.isAwaited = true
      apply(run) { $0.awaitReceiver() }
      run.hasGivenUpSlot = true
      world.pending.append((self, .receiverDone(run)))
      world.seen.insert("awaited")
      return true
    }

    func ended(_ run: Run) {
      let isFirst = run === attempt
      guard endsWith(run) else {
        world.seen.insert(isFirst ? "first out" : "hedge out")
        return lose(run)
      }
      if run !== attempt { world.violations.append("\(number) is not shown though it is the last") }
      if !run.hasHead, run.number > 1 { world.seen.insert("both fail") }
      apply(run) { $0.end() }
      perform(change { $0.attemptEnded(failed: run.failed) })
    }

    /// What a cancelled task does.
    func endTransfer(_ run: Run) {
      run.hasNext = false
      run.isAwaited = false
      if run.machine.stage == .draining { run.failed = true }
      apply(run) { $0.cancel() }
    }
  }
}
