import WeirCurl
import WeirHTTP
import WeirIO

/// An attempt's turn by the pace of its destination: it waits for it, or has it. An object, so that an attempt at a
/// destination without a pace stays small.
final class PaceTurn {
  let ticket: PaceMachine.Ticket
  /// Since when the attempt waits; nil once it has its turn.
  @exclusivity(unchecked) var waitsSince: MonotonicTime?
  /// Whether it has waited for a slot since it got its turn.
  @exclusivity(unchecked) var hasAwaitedSlot = false

  init(_ ticket: PaceMachine.Ticket, waitsSince: MonotonicTime? = nil) {
    self.ticket = ticket
    self.waitsSince = waitsSince
  }
}

extension Attempt {
  /// Asks the destination's pace for a turn, and then for a slot.
  func ask() {
    guard let settings = controls.pace, let destination = lease.destination else { return askForSlot() }
    if askForTurn(settings, at: destination, isRetry: number > 1, .now) { askForSlot() }
  }

  /// Asks for a turn. Returns whether it is there; if not, the attempt waits or is refused.
  private func askForTurn(
    _ settings: PaceSettings, at destination: DestinationState, isRetry: Bool, _ now: MonotonicTime
  ) -> Bool {
    let use = admission.use(of: destination)
    let latest = min(admission.callerLeaves ?? use.deadline, use.deadline)
    let patience = min(latest.seconds(since: now), settings.boundedWait - use.waited)
    let isPromised = use.takePromise()
    let (arrival, wake) = destination.askPace(
      settings, order: controls.order, priority: admission.pacePriority, timeout: patience,
      isRetry: isRetry || isPromised, isPromised: isPromised, at: now, turnWaiter)
    defer { wakePace(at: wake) }
    switch arrival {
    case .goes(let ticket):
      turn = PaceTurn(ticket)
      return true
    case .waits(let ticket):
      turn = PaceTurn(ticket, waitsSince: now)
      return false
    case .refused(let refusal):
      perform(machine.withdraw())
      shed(refusal.reason, retryAfter: refusal.retryAfter)
      return false
    }
  }

  /// The attempt waits for a slot with its turn.
  func holdsTurn() {
    guard let turn, let destination = lease.destination else { return }
    turn.hasAwaitedSlot = true
    destination.awaitsSlot(turn.ticket)
  }

  /// Whether an attempt with a slot may be sent now. If its turn counts no more, it takes another one. If that is not there
  /// now, it gives its slot back and waits, before all that come: else attempts that wait for slots would go in a pause,
  /// or all at once.
  func hasTurn(at now: MonotonicTime) -> Bool {
    guard let turn, turn.hasAwaitedSlot, let settings = controls.pace, let destination = lease.destination,
      !destination.beginsTurn(turn.ticket, at: now)
    else { return true }
    stopTimer()
    returnTurn()
    if let ticket = destination.takeTurn(settings, at: now) {
      self.turn = PaceTurn(ticket)
      return true
    }
    lease.giveBack()
    if askForTurn(settings, at: destination, isRetry: true, now) { askForSlot() }
    return false
  }

  /// Makes the closure to call when the turn is there, or refused.
  private func turnWaiter() -> PaceGate.Waiter {
    let bound = LoopBound(confining: self, on: transport.loop)
    return { [question = machine.question] refusal in
      bound.loop.post { bound.value.turnCame(question, refusal) }
    }
  }

  private func turnCame(_ question: AttemptMachine.Question, _ refusal: PaceMachine.Refusal?) {
    guard machine.awaits(question), let turn, let since = turn.waitsSince else { return }
    turn.waitsSince = nil
    let seconds = MonotonicTime.now.seconds(since: since)
    if let destination = lease.destination { admission.use(of: destination).waited += seconds }
    exchange.observer?.exchange(exchange, waitedForPace: seconds)
    guard let refusal else { return askForSlot() }
    self.turn = nil
    perform(machine.withdraw())
    shed(refusal.reason, retryAfter: refusal.retryAfter)
  }

  /// The attempt has its turn from its beginning, as it starts beside another one.
  func takesRivalTurn() {
    turn = lease.destination.flatMap { admission.use(of: $0).takeRivalTurn() }.map { PaceTurn($0) }
  }

  /// Gives a turn back with which nothing was sent.
  func returnTurn() {
    guard let turn = turn.take() else { return }
    wakePace(at: lease.destination?.leavePace(turn.ticket, at: .now))
  }

  /// Tells the pace of an end without a final head.
  func endTurn(at now: MonotonicTime) {
    guard let turn = turn.take() else { return }
    wakePace(
      at: machine.hasStarted
        ? lease.destination?.endedPace(turn.ticket, at: now) : lease.destination?.leavePace(turn.ticket, at: now))
  }

  /// An end may bring the next turn of those that wait forward.
  private func wakePace(at time: MonotonicTime?) {
    if let time, let destination = lease.destination { transport.wake(destination, at: time) }
  }

  /// Tells the pace of the final head.
  ///
  /// - Returns: Whether the destination asks for a pause, which is obeyed. Such an answer is no failure.
  func obeys(_ status: Int, _ head: ResponseHead?, at now: MonotonicTime) -> Bool {
    guard let settings = controls.pace, let destination = lease.destination else { return false }
    let date = Timestamp.now.seconds
    let leavesOut = head.map { status == 503 && leavesEndpointOut($0, settings, date, at: now) } ?? false
    let pause = head.flatMap {
      settings.pause(askedBy: $0, at: date, without: leavesOut ? .retryAfter : nil)
    }
    let (report, wake) = destination.answeredPace(settings, turn.take()?.ticket, pause: pause, at: now)
    wakePace(at: wake)
    if let report { transport.observer?.destination(destination.destination, pause: report) }
    return leavesOut || pause != nil && (status == 429 || status == 503)
  }

  /// A 503 with Retry-After of one endpoint among several leaves that endpoint out, and does not pause the destination.
  private func leavesEndpointOut(
    _ head: ResponseHead, _ settings: PaceSettings, _ date: Double, at now: MonotonicTime
  ) -> Bool {
    guard let selection, let seconds = settings.pause(askedBy: head, at: date, without: .rateLimit) else {
      return false
    }
    let (leaves, event) = selection.set.leavesOut(selection.endpoint, for: seconds, at: now)
    if let event { transport.observer?.destination(selection.destination, endpoint: event) }
    hasLeftEndpointOut = leaves
    return leaves
  }
}
