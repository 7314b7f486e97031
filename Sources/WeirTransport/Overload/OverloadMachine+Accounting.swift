import WeirIO

// The common parts of the calls: records, time that has passed, samples.
extension OverloadMachine {
  var hasPlace: Bool { inFlight.counted < places }

  mutating func send(at now: MonotonicTime) -> Ticket {
    let ticket = inFlight.send(at: now)
    noteSent(at: now)
    return ticket
  }

  mutating func noteSent(at now: MonotonicTime) {
    silence.sent(isOnly: inFlight.counted == 1, at: now)
    window.most = max(window.most, inFlight.counted)
  }

  mutating func refuse(_ reason: ShedReason) -> Arrival {
    recent.present.lost += 1
    totals.shed.count(reason)
    return .refused(reason)
  }

  mutating func refuse(_ ticket: Ticket, _ reason: ShedReason) -> Verdict {
    _ = refuse(reason)
    return Verdict(ticket: ticket, refusal: reason)
  }

  /// The bound of a wait, in seconds; below 0 when the caller would have left before an answer.
  func bound(timeout: Double?) -> Double {
    let average = latency?.average ?? 0
    var bound = settings.boundedWait
    if let callerTimeout = callerTimeout.seconds { bound = min(bound, max(0.1, 0.8 * callerTimeout - 1.5 * average)) }
    if overloadedSince != nil {
      bound = min(bound, max(settings.boundedWaitOverloaded, 0.5 * (latency?.baseline ?? 0)))
    }
    return timeout.map { min(bound, $0 - 1.5 * average) } ?? bound
  }

  mutating func heard(at now: MonotonicTime) {
    if silence.heard(at: now) { silenceEnded(at: now) }
    recent.present.heads += 1
    totals.heads += 1
    window.ended += 1
  }

  mutating func silenceEnded(at now: MonotonicTime) {
    beginWindow(at: now)
    // The callers that left because of the silence tell nothing of the answers to come.
    recent.restart(at: now)
    limit?.silenceEnded(settings)
    limitChanged()
    overloadedSince = nil
    lossySlots = 0
    rate = ServiceRate()
  }

  /// The service rate, or what came per second in the last two if that is more: an upstream gives at least what it
  /// gives.
  func serviceRate(at now: MonotonicTime) -> Double? {
    rate.value(at: now).map { max($0, Double(recent.sum(of: 4).heads) / 2) }
  }

  mutating func lost(_ ticket: Ticket, callerLeft: Bool, at now: MonotonicTime) {
    if let arrived = inFlight.leave(ticket) {
      recent.present.lost += 1
      recent.present.inVain += 1
      if callerLeft { callerTimeout.note(now.seconds(since: arrived), at: now) }
      return
    }
    guard let attempt = inFlight.sent(ticket) else { return }
    recent.present.lost += 1
    if callerLeft { callerTimeout.note(now.seconds(since: attempt.arrived), at: now) }
    window.givenUp += 1
    let seconds = now.seconds(since: attempt.sent)
    let isInVain = !callerLeft || isSlow(seconds, at: now)
    if isInVain { recent.present.inVain += 1 }
    if attempt.isCounted, isInVain || latency == nil { silence.gaveUpOnWire(after: seconds) }
    abandon(ticket, at: now)
    // The answer would have taken longer still.
    if attempt.isCounted, !silence.isSilent, seconds > latency?.average ?? .infinity {
      sample(seconds, sent: attempt.sent, at: now)
    }
  }

  /// Whether a give-up after so many seconds shows a slow upstream. The least latency is too high for this question if
  /// it comes from an overload, as with many gateways before one upstream. So an upstream is also slow if it has
  /// answered none of the later attempts.
  private func isSlow(_ seconds: Double, at now: MonotonicTime) -> Bool {
    guard let slow = latency.map({ 2 * $0.least }) else { return false }
    return seconds > slow || silence.isUnanswered(for: slow, at: now)
  }

  /// The upstream works on the attempt until its answer would have come, which is later than now: the caller saw none.
  mutating func abandon(_ ticket: Ticket, at now: MonotonicTime) {
    guard let attempt = inFlight.sent(ticket) else { return }
    let answer = max(latency?.average ?? 0, now.seconds(since: attempt.sent))
    let end = attempt.sent.advanced(bySeconds: 1.25 * answer)
    inFlight.abandon(ticket, workEnds: min(end, now.advanced(bySeconds: 5)), at: now, maximum: slots)
  }

  mutating func setAsideOvertaken(at now: MonotonicTime) {
    // As a rule no attempt on the wire is older than a second.
    guard inFlight.hasSent(before: MonotonicTime(nanoseconds: now.nanoseconds - 1_000_000_000)) else { return }
    let seconds = max(1, 8 * (latency?.average ?? 0))
    let bound = MonotonicTime(nanoseconds: now.nanoseconds - Int64(min(seconds, 1e9) * 1e9))
    inFlight.setAside(overtakenBy: latestAnswered, sentBefore: bound)
  }

  // MARK: Time

  /// Accounts for the time that has passed. Returns the time that counts as the present: threads read the clock before
  /// they get the lock.
  mutating func advance(to now: MonotonicTime) -> MonotonicTime {
    let now = max(now, clock)
    if recent.end <= now { skipIdleTime(until: now) }
    while true {
      let workEnd = inFlight.firstWorkEnd ?? .distantFuture
      let next = min(workEnd, recent.end)
      guard next <= now else { break }
      account(until: next)
      if workEnd <= next { inFlight.popWork() }
      if recent.end <= next { slotEnded(at: next) }
    }
    account(until: now)
    silence.look(
      average: latency?.average, shortest: settings.boundedSilence, waiting: inFlight.waiting, at: now)
    if isProbing {
      lookAtProbe(at: now)
    } else if window.isStale(average: latency?.average ?? 0, at: now) {
      latency?.passIdleTime(window.seconds(at: now))
      beginWindow(at: now)
    }
    return now
  }

  /// A minute without a call is not gone through slot by slot, as it may be a day.
  mutating func skipIdleTime(until now: MonotonicTime) {
    guard now.seconds(since: recent.end) > 60 else { return }
    recent.restart(at: now)
    callerTimeout.update(at: now)
    if inFlight.waiting == 0 { becomeFree() }
  }

  mutating func account(until time: MonotonicTime) {
    if time <= clock { return }
    if inFlight.waiting > 0 || !hasPlace {
      let seconds = time.seconds(since: clock)
      window.saturated += seconds
      recent.present.saturated += seconds
    }
    clock = time
  }

  func abortTime(_ probe: OverloadProbe) -> MonotonicTime? {
    overloadedSince == nil ? inFlight.oldestArrival.map(probe.abort) : nil
  }

  mutating func lookAtProbe(at now: MonotonicTime) {
    guard let probe = limit?.probe, var latency else { return }
    if let abort = abortTime(probe), abort <= now {
      limit?.abortProbe(at: now)
      totals.probes.aborted += 1
    } else {
      let result = limit?.endProbeIfOver(
        counted: inFlight.counted, &latency, callerTimeout: callerTimeout.seconds, at: now)
      guard let result else { return }
      self.latency = latency
      if result == .faster { totals.probes.faster += 1 } else { totals.probes.same += 1 }
    }
    limitChanged()
    beginWindow(at: now)
  }

  /// The limit, or its probe, is another.
  mutating func limitChanged() {
    places = limit?.floor ?? .max
    isProbing = limit?.probe != nil
  }

  // MARK: Samples

  mutating func noteAnswer(_ seconds: Double) {
    guard let latency else { return }
    recent.present.answers += 1
    if seconds <= 2 * latency.least { recent.present.fast += 1 }
    window.noteAnswer(seconds, isFast: seconds <= latency.tolerated(settings))
  }

  mutating func sample(_ seconds: Double, sent: MonotonicTime, at now: MonotonicTime) {
    if isProbing {
      limit?.probe?.note(seconds, sent: sent)
      lookAtProbe(at: now)
      return
    }
    window.note(seconds)
    if window.isFull(at: now) { windowEnded(at: now) }
  }

  func longestWait(at now: MonotonicTime) -> Double { inFlight.oldestArrival.map { now.seconds(since: $0) } ?? 0 }

  mutating func beginWindow(at now: MonotonicTime) { window = OverloadWindow(at: now, counted: inFlight.counted) }
}
