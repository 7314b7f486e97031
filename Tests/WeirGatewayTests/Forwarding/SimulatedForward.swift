@testable import WeirGateway
@testable import WeirTransport

extension ForwardMachineSimulationTests {
  /// A shell of a ``ForwardMachine``, in the manner of ``Forwarding``, with its client and its timers.
  final class Forward {
    let number: Int
    unowned let world: World
    var machine: ForwardMachine
    private let mayRetry: Bool
    private let canReplayBody: Bool
    private let hedges: Int
    /// The present attempt, and those beside it.
    var attempt: Attempt?
    var rivals: [Attempt] = []
    private var made: [Attempt] = []
    private var client = Client()
    private var timers: Set<Timer> = []

    private var hasFailed = false
    /// Whether the transfer is over while the client has not taken all.
    private var hasEnding = false
    private var startedCount = 0
    /// Whether it was ended from outside.
    private var wasEnded = false
    private var grants = 0
    private var wasTakenBack = false
    /// Denials that were told of the present attempt.
    private var denials = 0
    private var isRefused = false
    private(set) var settles = 0

    private enum Timer { case delay, hedge, deadline }

    init(number: Int, world: World) {
      self.number = number
      self.world = world
      mayRetry = !world.chance(6)
      canReplayBody = !world.chance(6)
      hedges = world.pick(3)
      machine = ForwardMachine(mayRetry: mayRetry, hedges: hedges)
    }

    var heldSlots: Int { made.reduce(0) { $0 + $1.slots } }

    private var live: [Attempt] { made.filter { $0.ends == 0 } }

    // MARK: What happens

    /// Something that the client, the upstream or a timer does.
    func act() {
      let heard = made.filter(\.isHeard)
      let any = heard.isEmpty ? nil : heard[world.pick(heard.count)]
      switch world.pick(16) {
      case 0, 1: begin()
      case 2: if world.chance(10) { fail("client left") }
      case 3: if timers.contains(.deadline), world.chance(8) { fail("deadline") }
      case 4: if let attempt, world.chance(6) { attempt.admissionTimesOut() }
      case 5, 6, 7: if let any { headArrives(any, [200, 404, 429, 503, 503, 500, 101][world.pick(7)]) }
      case 8, 9: if let any { bodyArrives(any) }
      case 10, 11: if let any { serverEnds(any, failing: world.chance(2)) }
      case 12: takeSome()
      case 13: fire(.delay)
      default: fire(.hedge)
      }
    }

    /// All come to their ends without new wishes.
    func goToTheEnd() {
      begin()
      takeSome()
      fire(.delay)
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
      if machine.isEnding { return }
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

    /// The client takes what waits for it.
    private func takeSome() {
      guard client.hasUnsent else { return }
      world.note("\(number): client takes")
      if client.take() { attempt?.release() }
    }

    private func fire(_ timer: Timer) {
      guard timers.remove(timer) != nil else { return }
      world.note("\(number): \(timer)")
      switch timer {
      case .delay: perform(machine.delayElapsed())
      case .hedge: hedgeIsDue()
      case .deadline: break
      }
    }

    // MARK: What the machine says

    private func perform(_ action: ForwardMachine.Action) {
      if settles > 0, action != .none { world.violate("\(number): \(action) after it has settled") }
      switch action {
      case .none: break
      case .attempt: beginAttempt()
      case .decide: decide()
      case .passOn: passOn()
      case .discard: attempt?.discardBody()
      case .wait: timers.insert(.delay)
      case .cancel:
        endRace()
        attempt?.cancel()
      case .settle: settle()
      }
    }

    private func make(_ number: Int) -> Attempt {
      if wasEnded { world.violate("\(self.number): an attempt begins after the end") }
      let attempt = Attempt(number: number, self, world)
      made.append(attempt)
      if made.count != number { world.violate("\(attempt) is the attempt \(made.count)") }
      return attempt
    }

    private func beginAttempt() {
      if !live.isEmpty { world.violate("\(number): an attempt begins beside \(live)") }
      hasFailed = false
      denials = 0
      let attempt = make(machine.present)
      self.attempt = attempt
      attempt.admit()
    }

    private func settle() {
      if !live.isEmpty { world.violate("\(number) settles with attempts under way: \(live)") }
      settles += 1
      timers = []
      attempt = nil
      client.end()
    }

    private func passOn() {
      if attempt?.status == 101 {
        world.see("bad response")
        return fail("bad response")
      }
      if client.hasResponse { world.violate("\(number): a second head is passed on") }
      client.begin()
    }

    // MARK: Retries

    private func decide() {
      if isRefused { world.violate("\(number): the rules are asked after a refusal for the destination's sake") }
      if !mayRetry { world.violate("\(number): there are no rules to ask") }
      let isAtHead = machine.stage == .deciding(atHead: true)
      let decision = decision()
      if world.chance(30) { fail("end") }
      switch decision {
      case .retry:
        if !wasEnded { grants += 1 }
        let occasion = wasTakenBack ? "after a take-back" : isAtHead ? "at the head" : "after a failure"
        world.see("retry \(occasion)")
      case .deny(let reason):
        world.see(denials > 0 ? "denied again" : isAtHead ? "denied at the head" : "denied after a failure")
        if !machine.hasDenied { denials += 1 }
        if denials != 1 { world.violate("\(number): \(denials) denials are told of one attempt") }
        isRefused = isRefused || reason == .budget || reason == .breaker
        if isRefused { world.see("refused for the destination's sake") }
      }
      wasTakenBack = false
      perform(machine.decided(decision))
    }

    private func decision() -> RetryDecision {
      if world.chance(5) { return .deny(world.chance(2) ? .policy : .limit) }
      if client.hasResponse || !canReplayBody { return .deny(.body) }
      if world.chance(6) { return .deny(world.chance(2) ? .budget : .breaker) }
      return .retry(after: 1, source: .backoff)
    }

    // MARK: Second attempts

    private func awaitHedge() {
      if machine.mayHedge { timers.insert(.hedge) }
    }

    private func hedgeIsDue() {
      guard machine.mayHedge else { return }
      guard world.admission.taken < world.admission.slots else { return world.see("no room for a hedge") }
      machine.grantHedge()
      // Another loop may have been faster.
      if !world.chance(5), world.admission.take() {
        world.see(machine.retries > 0 ? "hedge in a retry" : "hedge")
        let rival = make(machine.hedge())
        rivals.append(rival)
        rival.startBesideAnother()
      } else {
        world.see("room for a hedge was taken")
      }
      awaitHedge()
    }

    /// Does what the race says. Returns whether the attempt goes on.
    private func follow(_ verdict: HedgeRace.Verdict, _ attempt: Attempt) -> Bool {
      let isFirst = attempt === self.attempt
      switch verdict {
      case .wins:
        if !rivals.isEmpty { world.see(isFirst ? "the first wins" : "the hedge wins") }
        show(attempt)
        endRace()
        return true
      case .isLast:
        if !isFirst { world.violate("\(attempt) is the last, and not the present one") }
        if attempt.number > 1 { world.see("all fail") }
        endRace()
        return true
      case .isOut(let successor):
        world.see(isFirst ? "the first is out" : "the hedge is out")
        if isFirst, let next = rivals.first(where: { $0.number == successor }) { show(next) }
        rivals.removeAll { $0 === attempt }
        lose(attempt)
        return false
      }
    }

    private func show(_ attempt: Attempt) {
      guard let previous = self.attempt, previous !== attempt else { return }
      rivals.removeAll { $0 === attempt }
      rivals.append(previous)
      self.attempt = attempt
    }

    private func endRace() {
      timers.remove(.hedge)
      while let rival = rivals.popLast() { lose(rival) }
    }

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
      if machine.isOnWire(attempt.number) { awaitHedge() }
    }

    /// Whether the rest may come.
    func didReceiveHead(_ attempt: Attempt, _ status: Int) -> Bool {
      if machine.isEnding { return false }
      if let verdict = machine.raceHears(attempt.number, status: status), !follow(verdict, attempt) { return false }
      let isRetryable = status == 503 || status == 429
      if isRetryable, !mayRetry { world.see("passed on without being asked") }
      perform(machine.headArrived(isRetryable: isRetryable))
      return !wasEnded
    }

    /// Whether the rest may come.
    func didReceiveBody(_ attempt: Attempt) -> Bool {
      if machine.isEnding { return false }
      if !client.hasResponse || attempt !== self.attempt { world.violate("\(attempt): body without a head") }
      if client.write(isBlocked: world.chance(3)) { return true }
      world.see("slow client")
      attempt.hold()
      return true
    }

    /// The transfer is over, and the client has still to take what there is of it.
    func drains(_ attempt: Attempt) {
      world.see("draining")
      hasEnding = true
    }

    func attemptConcludes(_ attempt: Attempt) {
      guard hasEnding else { return }
      hasEnding = false
      if !machine.isEnding { return finish(attempt, failed: false) }
      attemptWasCancelled(attempt)
    }

    func finish(_ attempt: Attempt, failed: Bool) { ended(attempt, failed: failed) }

    func attemptWasCancelled(_ attempt: Attempt) { ended(attempt, failed: true) }

    private func ended(_ attempt: Attempt, failed: Bool) {
      if let verdict = machine.raceHears(endOf: attempt.number), !follow(verdict, attempt) { return }
      if failed, !machine.isEnding { hasFailed = true }
      if failed, client.hasResponse {
        wasTakenBack = client.retract()
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
      if let granted = machine.race?.granted, granted > hedges {
        world.violate("\(number): \(granted) hedges are granted, \(hedges) are allowed")
      }
      if machine.attempts != made.count { world.violate("\(number): \(machine.attempts) of \(made.count) attempts") }
      let started = made.count { $0.machine.hasStarted }
      if startedCount != started { world.violate("\(number): \(startedCount) of \(started) attempts are counted") }
      if machine.isPassing != client.hasResponse, machine.stage != .ending {
        world.violate("\(number): \(machine.stage), and the client's response is another matter")
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
