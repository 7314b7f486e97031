import WeirIO

// The ends of windows and of slots of half a second change the modes, the limit and the overloaded state.
extension OverloadMachine {
  mutating func windowEnded(at now: MonotonicTime) {
    defer { beginWindow(at: now) }
    let seconds = window.seconds(at: now)
    // While the control is free, the rate is what was asked for; it is a beginning where no head comes any more.
    if window.ended > 0, limit == nil || window.saturated > 0.7 * seconds {
      rate.note(Double(window.ended) / seconds, at: now)
    }
    guard var latency else {
      latency = UpstreamLatency(window)
      return
    }
    latency.note(window, isControlled: limit != nil, at: now)
    let longest = longestWait(at: now)
    limit?.windowEnded(window, &latency, settings, longestWait: longest, at: now)
    self.latency = latency
    limitChanged()
  }

  /// A slot of half a second has ended.
  mutating func slotEnded(at now: MonotonicTime) {
    recent.turn()
    callerTimeout.update(at: now)
    silence.refuse(callersLeave(at: now), at: now)
    if limit == nil {
      losses.note(recent.last)
      controlIfCallersLose(at: now)
    } else {
      judgeOverload(at: now)
    }
    freeIfCalm(at: now)
  }

  // MARK: Free and controlled

  /// Begins the controlled mode if callers lose and answers are slow for this upstream. An upstream that takes long by
  /// nature, and callers that leave early by nature, are no reason, nor is a slow path beside fast ones: a queue at the
  /// upstream slows nearly all answers.
  private mutating func controlIfCallersLose(at now: MonotonicTime) {
    guard let latency, !silence.isSilent, recent.passed >= CallerLosses.judgedSlots else { return }
    let slots = recent.sum(of: CallerLosses.judgedSlots)
    guard losses.isExceeded(by: slots) else { return }
    let isSlow =
      slots.heads > 0
      ? slots.areMostSlow
      : silence.isUnanswered(for: 2 * latency.least, at: now) && callersLeave(at: now)
    if isSlow { control(latency, at: now) }
  }

  /// Whether callers leave an upstream that is not heard of, and few have a longer timeout.
  private func callersLeave(at now: MonotonicTime) -> Bool {
    silence.callersLeave { seconds in
      inFlight.onWire(sentBefore: MonotonicTime(nanoseconds: now.nanoseconds - Int64(seconds * 1e9)))
    }
  }

  private mutating func control(_ latency: UpstreamLatency, at now: MonotonicTime) {
    let heads = Double(recent.sum(of: RecentSlots.count).heads)
    let perSecond = heads > 0 ? heads / (Double(recent.passed) * RecentSlots.length) : rate.value(at: now)
    rate = ServiceRate()
    if let perSecond { rate.note(perSecond, at: now) }
    var latency = latency
    latency.beginControl(callerTimeout: callerTimeout.seconds)
    self.latency = latency
    let initial = perSecond.map { 2 * latency.baseline * $0 } ?? Double(settings.boundedInitial)
    limit = OverloadLimit(initial, settings, slots: slots, at: now)
    limitChanged()
    overloadedSince = perSecond == nil ? nil : now
    lossySlots = 0
    calmSince = nil
    beginWindow(at: now)
  }

  private mutating func freeIfCalm(at now: MonotonicTime) {
    let isControlled = limit != nil || silence.isSilent
    let slots = recent.sum(of: 4)
    let isNeeded = silence.isSilent ? slots.arrivals > 0 : isProbing || overloadedSince != nil || slots.saturated > 0.1
    if !isControlled || isNeeded || inFlight.waiting > 0 {
      calmSince = nil
      return
    }
    let since = calmSince ?? now
    calmSince = since
    guard now.seconds(since: since) > 10 + 2 * (latency?.average ?? 0) else { return }
    becomeFree()
  }

  mutating func becomeFree() {
    calmSince = nil
    if silence.isSilent { silence.forget(at: clock) }
    guard limit != nil else { return }
    limit = nil
    limitChanged()
    overloadedSince = nil
    latency?.endControl()
    recent.forget()
  }

  // MARK: Overloaded

  private mutating func judgeOverload(at now: MonotonicTime) {
    if let since = overloadedSince {
      guard now.seconds(since: since) > 1, recent.sum(of: 4).saturated < 1 else { return }
      overloadedSince = nil
      lossySlots = 0
      return
    }
    let last = recent.last
    if last.arrivals == 0 { return }
    lossySlots = Double(last.lost) > 0.1 * Double(last.arrivals) ? lossySlots + 1 : 0
    if lossySlots >= 4, rate.value(at: now) != nil { overloadedSince = now }
  }
}
