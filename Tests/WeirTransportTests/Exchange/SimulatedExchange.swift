@testable import WeirTransport

extension ExchangeSimulationTests {
  /// An exchange in the manner of the gateway's, with its caller and its timers.
  final class Exchange: ExchangeRun {
    let number: Int
    unowned let world: World
    var machine: ExchangeMachine
    let admission = ExchangeAdmission(DestinationControls(retryBudget: nil))
    private let mayRetry: Bool
    private let canReplayBody: Bool
    let hedge: HedgePlan?
    var attempt: Attempt?
    var rivals: [Attempt] = []
    var grantedReason: RetryReason?
    private var made: [Attempt] = []
    /// The attempts whose requests could not be made.
    private var unmade = 0
    private var caller = Caller()
    private var timers: Set<Timer> = []

    private var hasFailed = false
    /// Whether the transfer is over while the caller has not taken all.
    private var hasEnding = false
    private var startedCount = 0
    /// Whether it was ended from outside.
    private(set) var wasEnded = false
    var grants = 0
    private var wasTakenBack = false
    /// Denials that were told of the present attempt.
    var denials = 0
    private var isRefused = false
    private(set) var settles = 0

    private enum Timer { case preparation, retry, hedge, deadline }

    init(number: Int, world: World) {
      self.number = number
      self.world = world
      mayRetry = !world.chance(6)
      canReplayBody = !world.chance(6)
      let hedges = world.pick(3)
      hedge = hedges > 0 ? HedgePlan(delay: .seconds(1), limit: hedges) : nil
      machine = ExchangeMachine(mayRetry: mayRetry)
    }

    var heldSlots: Int { made.reduce(0) { $0 + $1.slots } }

    private var live: [Attempt] { made.filter { $0.ends == 0 } }

    // MARK: What happens

    /// Something that the caller, the upstream or a timer does.
    func act() {
      let heard = made.filter(\.isHeard)
      let any = heard.isEmpty ? nil : heard[world.pick(heard.count)]
      switch world.pick(17) {
      case 0, 1: begin()
      case 2: if world.chance(10) { fail("caller left") }
      case 3: if timers.contains(.deadline), world.chance(8) { fail("deadline") }
      case 4: if let attempt, world.chance(6) { attempt.admissionTimesOut() }
      case 5, 6, 7: if let any { headArrives(any, [200, 404, 429, 503, 503, 500, 101][world.pick(7)]) }
      case 8, 9: if let any { bodyArrives(any) }
      case 10, 11: if let any { serverEnds(any, failing: world.chance(2)) }
      case 12: takeSome()
      case 13: fire(.preparation)
      case 14: fire(.retry)
      default: fire(.hedge)
      }
    }

    /// All come to their ends without new wishes.
    func goToTheEnd() {
      begin()
      takeSome()
      fire(.preparation)
      fire(.retry)
      for attempt in made where attempt.isHeard {
        headArrives(attempt, 200)
        serverEnds(attempt, failing: false)
      }
    }

    private func begin() {
      guard machine.stage == .idle else { return }
      world.note("\(number): begin")
      timers.insert(.deadline)
      perform(machine.begin())
    }

    private func fail(_ reason: String) {
      if machine.stage.isEnding { return }
      world.note("\(number): \(reason) in \(machine.stage)")
      see()
      hasFailed = true
      wasEnded = true
      perform(machine.end())
    }

    private func see() {
      if case .discarding = machine.stage {
        world.see("end in discarding")
      } else {
        world.see("end in \(machine.stage)")
      }
      if attempt?.machine.wait == .first { world.see("end in a queue") }
      if attempt?.machine.stage == .draining { world.see("end while draining") }
      if !rivals.isEmpty { world.see("end in a race") }
    }

    private func headArrives(_ attempt: Attempt, _ status: Int) {
      guard attempt.status == nil else { return }
      world.note("\(attempt): \(status)")
      attempt.headArrives(status)
    }

    private func bodyArrives(_ attempt: Attempt) {
      guard attempt.status != nil, attempt.wire?.isReading == true else { return }
      world.note("\(attempt): body")
      attempt.bodyArrives()
    }

    /// A response without a head is a failure.
    private func serverEnds(_ attempt: Attempt, failing: Bool) {
      world.note("\(attempt): \(failing ? "breaks" : "ends")")
      attempt.transferEnds(failing: failing || attempt.status == nil)
    }

    /// The caller takes what waits for it.
    private func takeSome() {
      guard caller.hasUnsent else { return }
      world.note("\(number): caller takes")
      if caller.take() { attempt?.release() }
    }

    private func fire(_ timer: Timer) {
      guard timers.remove(timer) != nil else { return }
      world.note("\(number): \(timer)")
      switch timer {
      case .preparation: finishPreparing()
      case .retry: retryIsDue()
      case .hedge: hedgeIsDue()
      case .deadline: break
      }
    }

    // MARK: What differs between exchanges

    func change<Answer>(_ input: (inout ExchangeMachine) -> Answer) -> Answer { input(&machine) }

    func prepare() {
      if !live.isEmpty { world.violate("\(number): an attempt begins beside \(live)") }
      hasFailed = false
      denials = 0
      if world.chance(2) { finishPreparing() } else { timers.insert(.preparation) }
    }

    private func finishPreparing() {
      guard machine.stage == .preparing else { return }
      if world.chance(20) {
        world.see("not prepared")
        unmade += 1
        hasFailed = true
        return perform(machine.preparationFailed())
      }
      attempt = make(machine.present)
      perform(machine.prepared())
    }

    private func make(_ number: Int) -> Attempt {
      if wasEnded { world.violate("\(self.number): an attempt begins after the end") }
      let attempt = Attempt(number: number, self, world)
      made.append(attempt)
      if made.count + unmade != number { world.violate("\(attempt) is the attempt \(made.count + unmade)") }
      return attempt
    }

    func admit() { attempt?.admit() }

    func forgetAttempt() { attempt = nil }

    func discardBody() { attempt?.discardBody() }

    func cancelAttempt() { attempt?.cancel() }

    func settle() {
      if !live.isEmpty { world.violate("\(number) settles with attempts under way: \(live)") }
      settles += 1
      timers = []
      attempt = nil
      caller.end()
    }

    func passOn() {
      if attempt?.status == 101 {
        world.see("bad response")
        return fail("bad response")
      }
      if caller.hasResponse { world.violate("\(number): a second head is passed on") }
      caller.begin()
    }

    func askForVerdict() {
      if isRefused { world.violate("\(number): the rules are asked after a refusal for the destination's sake") }
      if !mayRetry { world.violate("\(number): there are no rules to ask") }
      let isAtHead = machine.stage == .deciding(atHead: true)
      let verdict = verdict()
      if world.chance(30) { fail("end") }
      switch verdict {
      case .retry:
        let occasion = wasTakenBack ? "after a take-back" : isAtHead ? "at the head" : "after a failure"
        world.see("retry \(occasion)")
      case .deny(let reason):
        world.see(machine.hasDenied ? "denied again" : isAtHead ? "denied at the head" : "denied after a failure")
        isRefused = isRefused || reason.isDestinations
        if isRefused { world.see("refused for the destination's sake") }
      }
      wasTakenBack = false
      judged(verdict, dueTo: RetryReason(rawValue: "503"))
    }

    private func verdict() -> RetryDecision {
      if world.chance(5) { return .deny(world.chance(2) ? .policy : .limit) }
      if caller.hasResponse || !canReplayBody { return .deny(.body) }
      if world.chance(6) { return .deny(world.chance(2) ? .budget : .breaker) }
      return .retry(after: 1, source: .backoff)
    }

    func wait(_ seconds: Double, for event: ExchangeTimer) { timers.insert(event == .hedge ? .hedge : .retry) }

    func stopWaiting(for event: ExchangeTimer) { timers.remove(event == .hedge ? .hedge : .retry) }

    // MARK: Second attempts

    var mayRunTwice: Bool { true }

    func hasRoomForRival() -> Bool {
      if world.admission.taken < world.admission.slots { return true }
      world.see("no room for a hedge")
      return false
    }

    /// Another loop may have been faster.
    func takesRoomForRival() -> Bool {
      if !world.chance(5), world.admission.take() { return true }
      world.see("room for a hedge was taken")
      return false
    }

    func prepareRival() {
      startRival { number, keep in
        world.see(machine.retries > 0 ? "hedge in a retry" : "hedge")
        keep(make(number))
      }
    }

    func abandon(_ rival: Attempt) { lose(rival) }

    private func lose(_ attempt: Attempt) {
      attempt.lose()
      attempt.end()
    }

    // MARK: What attempts ask and tell

    func wasRejected(_ attempt: Attempt) {
      hasFailed = true
      attempt.end()
      perform(machine.rejected())
    }

    func attemptIsDue(_ attempt: Attempt) {
      if wasEnded { world.violate("\(attempt) is due after the end") }
      attempt.hopStarts()
      if world.chance(12) {
        world.see("no transfer")
        ended(attempt, failed: true)
      } else {
        attempt.send()
      }
    }

    func attemptBegan(_ attempt: Attempt) {
      startedCount += 1
      wentOnWire(attempt)
    }

    /// Whether the rest may come.
    func didReceiveHead(_ attempt: Attempt, _ status: Int) -> Bool {
      if machine.stage.isEnding { return false }
      let (isFirst, hasRivals) = (attempt === self.attempt, !rivals.isEmpty)
      guard goesOn(attempt, status: status) else {
        world.see(isFirst ? "the first is out" : "the hedge is out")
        lose(attempt)
        return false
      }
      if hasRivals { world.see(isFirst ? "the first wins" : "the hedge wins") }
      if attempt !== self.attempt { world.violate("\(attempt) goes on, and is not the present one") }
      let isRetryable = status == 503 || status == 429
      if isRetryable, !mayRetry { world.see("passed on without being asked") }
      perform(machine.headArrived(isRetryable: isRetryable))
      return !wasEnded
    }

    /// Whether the rest may come.
    func didReceiveBody(_ attempt: Attempt) -> Bool {
      if machine.stage.isEnding { return false }
      if !caller.hasResponse || attempt !== self.attempt { world.violate("\(attempt): body without a head") }
      if caller.write(isBlocked: world.chance(3)) { return true }
      world.see("slow caller")
      attempt.hold()
      return true
    }

    /// The transfer is over, and the caller has still to take what there is of it.
    func drains(_ attempt: Attempt) {
      world.see("draining")
      hasEnding = true
    }

    func attemptConcludes(_ attempt: Attempt) {
      guard hasEnding else { return }
      hasEnding = false
      if !machine.stage.isEnding { return finish(attempt, failed: false) }
      attemptWasCancelled(attempt)
    }

    func finish(_ attempt: Attempt, failed: Bool) { ended(attempt, failed: failed) }

    func attemptWasCancelled(_ attempt: Attempt) { ended(attempt, failed: true) }

    private func ended(_ attempt: Attempt, failed: Bool) {
      let isFirst = attempt === self.attempt
      guard endsWith(attempt) else {
        world.see(isFirst ? "the first is out" : "the hedge is out")
        return lose(attempt)
      }
      if attempt !== self.attempt { world.violate("\(attempt) is the last, and not the present one") }
      if failed, attempt.status == nil, attempt.number > machine.retries + 1 { world.see("all fail") }
      if failed, !machine.stage.isEnding { hasFailed = true }
      if failed, caller.hasResponse {
        wasTakenBack = caller.retract()
        if !wasTakenBack { world.see("not taken back") }
      }
      attempt.end()
      perform(machine.attemptEnded(failed: hasFailed))
    }

    // MARK: What must hold

    /// Between two steps.
    func check() {
      let live = live
      let shown = (attempt.map { [$0] } ?? []) + rivals
      if live.count > 1, machine.stage != .trying || machine.race?.runners != live.map(\.number) {
        world.violate("\(number): \(live) are under way in \(machine)")
      }
      if !live.allSatisfy({ one in shown.contains { $0 === one } }) {
        world.violate("\(number): \(live) are under way, known are \(shown)")
      }
      for attempt in live { attempt.check() }
      let known = attempt?.number ?? machine.present
      if known != machine.present { world.violate("\(number): \(known) is shown in place of \(machine.present)") }
      if machine.retries > grants { world.violate("\(number): \(machine.retries) retries, \(grants) were granted") }
      if let granted = machine.race?.granted, granted > hedge?.limit ?? 0 {
        world.violate("\(number): \(granted) hedges are granted, \(hedge?.limit ?? 0) are allowed")
      }
      let begun = made.count + unmade + (machine.stage == .preparing ? 1 : 0)
      if !wasEnded, machine.attempts != begun { world.violate("\(number): \(machine.attempts) of \(begun) attempts") }
      let started = made.count { $0.machine.hasStarted }
      if startedCount != started { world.violate("\(number): \(startedCount) of \(started) attempts are counted") }
      if (machine.stage == .passing) != caller.hasResponse, machine.stage != .ending {
        world.violate("\(number): \(machine.stage), and the caller's response is another matter")
      }
      if settles != (machine.stage == .over ? 1 : 0) { world.violate("\(number) settled \(settles) times") }
    }

    func checkEnd() {
      check()
      if settles != 1 { world.violate("\(number) settled \(settles) times") }
      if !wasEnded, machine.retries != grants { world.violate("\(number): \(machine.retries) of \(grants) retries") }
      for attempt in made where attempt.ends != 1 || attempt.slots != 0 {
        world.violate("\(attempt) ended \(attempt.ends) times and has \(attempt.slots) slots")
      }
    }
  }
}
