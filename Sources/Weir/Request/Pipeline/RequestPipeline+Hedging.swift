import Synchronization
import WeirIO

/// The second attempts of a request with hedging; other requests have no `Hedging`.
final class Hedging {
  let plan: HedgePlan
  var race: HedgeRace
  /// The attempts under way besides the pipeline's present attempt.
  var rivals: [RequestAttempt] = []
  let timer = LoopTimer()

  init(_ plan: HedgePlan) {
    self.plan = plan
    race = HedgeRace(limit: plan.limit)
  }
}

/// A second attempt beside a slow one: its start, and the choice of the attempt that answers.
///
/// The request shows one of its attempts at a time: the first, until that has failed or another one wins.
extension RequestPipeline {
  var running: [RequestAttempt] { (attempt.map { [$0] } ?? []) + (hedging?.rivals ?? []) }

  // MARK: The start

  /// The request's next attempt is on the wire alone. The delay of a second attempt counts from now.
  func raceBegins(with attempt: RequestAttempt, _ plan: HedgePlan) {
    let hedging = hedging ?? Hedging(plan)
    self.hedging = hedging
    hedging.race.begins(attempt.number)
    awaitHedge()
  }

  /// Starts the delay of the next second attempt, if one may follow.
  func awaitHedge() {
    guard let hedging, hedging.race.mayHedge, let delay = terms.seconds(of: hedging.plan.delay) else { return }
    core.loop.schedule(hedging.timer, at: MonotonicTime.now.advanced(bySeconds: delay), handler: self)
  }

  /// No head has arrived within the delay.
  func hedgeIsDue() {
    let (initial, step, isWanted) = request.fields.withLock {
      ($0.attempt?.initial, $0.machine.step, $0.machine.stage == .transferring && !$0.machine.isSuspended)
    }
    guard isWanted, let hedging, hedging.race.mayHedge, let initial, mayRunTwice(initial) else { return }
    guard terms.mayHedge() else { return tellDeniedHedge() }
    hedging.race.grant()
    let adapters = core.adapters(of: request)
    if adapters.isEmpty {
      startHedge(initial, adapted: nil)
    } else {
      adapt(initial.urlRequest, by: adapters, step) { pipeline, result, step in
        // If the adapters fail, the request continues without a second attempt.
        guard case .success(let adapted) = result, pipeline.decide({ $0.isWaiting(in: step) }) else { return }
        pipeline.startHedge(initial, adapted: HopRequest(adapted))
      }
    }
    awaitHedge()
  }

  private func tellDeniedHedge() { observer?.exchange(self, hedge: .denied) }

  /// Whether two attempts at once have the same effect as one, and each has a body of its own.
  private func mayRunTwice(_ hop: HopRequest) -> Bool {
    guard request.mayRunTwice, HTTPMethod.idempotent.contains(HTTPMethod(rawValue: hop.method)), bodyStream == nil
    else { return false }
    switch request.makeBody(of: hop) {
    case .none, .data, .file: return true
    case .stream: return false
    }
  }

  /// Puts the second attempt on the wire at once or not at all: one that waits for a slot would only add to the load.
  private func startHedge(_ initial: HopRequest, adapted: HopRequest?) {
    guard let hedging, hedging.race.isOpen, !decide({ $0.isSuspended }), mayRunTwice(adapted ?? initial) else { return }
    guard terms.takesHedge() else { return tellDeniedHedge() }
    let number = request.fields.withLock { $0.beginRival(initial: initial, adapted: adapted) }
    var attempt: RequestAttempt?
    makeTask(for: adapted ?? initial, rival: number) {
      $0.attempt.beginsWithSlot()
      attempt = $0
      hedging.rivals.append($0)
      hedging.race.joins(number)
    }
    // A monitor or observer that was told of the task may have ended the race.
    if let attempt, attempt.machine.stage == .waiting { attempt.startBesideAnother() }
  }

  // MARK: The end

  /// A final head has arrived. Returns whether its attempt continues.
  func headArrived(for attempt: RequestAttempt, status: Int) -> Bool {
    guard let hedging, let verdict = hedging.race.headArrived(attempt.number, status: status) else { return true }
    return follow(verdict, attempt, error: nil)
  }

  /// An attempt has ended before its final head. Returns whether the request ends with it.
  func failed(_ attempt: RequestAttempt, _ error: URLError?) -> Bool {
    guard let hedging, let verdict = hedging.race.fails(attempt.number) else { return true }
    return follow(verdict, attempt, error: error)
  }

  private func follow(_ verdict: HedgeRace.Verdict, _ attempt: RequestAttempt, error: URLError?) -> Bool {
    switch verdict {
    case .wins:
      show(attempt)
      endRace()
      attempt.attempt.decideHedge(.won)
      return true
    case .isLast:
      endRace()
      return true
    case .isOut(let successor):
      if attempt === self.attempt, let next = hedging?.rivals.first(where: { $0.number == successor }) { show(next) }
      hedging?.rivals.removeAll { $0 === attempt }
      attempt.lose(error)
      return false
    }
  }

  /// Ends all attempts but the present one.
  func endRace() {
    guard let hedging else { return }
    core.loop.cancel(hedging.timer)
    hedging.race.abandon()
    while let rival = hedging.rivals.popLast() {
      rival.lose(urlError(.cancelled, "the attempt is of no use any more"))
    }
  }

  /// Makes `attempt` the one that the request shows as its present attempt.
  private func show(_ attempt: RequestAttempt) {
    guard let previous = self.attempt, previous !== attempt else { return }
    hedging?.rivals.removeAll { $0 === attempt }
    hedging?.rivals.append(previous)
    self.attempt = attempt
    request.fields.withLock { $0.show(attempt.number) }
  }
}
