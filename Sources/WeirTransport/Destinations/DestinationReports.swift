import WeirIO

/// Reports on destinations once a second: the retries that their budgets would grant, and the values of their load
/// control. A destination is reported until no request has come for a while. Bound to the loop.
///
/// A timer does this, so that it costs a request nothing. Only one of several sessions that share a destination reports
/// it.
final class DestinationReports {
  private let loop: EventLoop
  private let tell: (Destination, DestinationState.Reports) -> Void
  private var watched: [DestinationState] = []
  private let timer = LoopTimer()

  init(loop: EventLoop, tell: @escaping (Destination, DestinationState.Reports) -> Void) {
    self.loop = loop
    self.tell = tell
  }

  /// Reports the destination from now on.
  ///
  /// - Parameter budget: The budget to report, until a retry with another budget is asked for.
  func watch(_ destination: DestinationState, budget: RetryBudget?) {
    destination.reportsRetries(of: budget)
    watched.append(destination)
    _ = report(destination, .now)
    if !timer.isArmed { schedule(after: .now) }
  }

  /// Stops reporting the destinations, so that other sessions may do so.
  func end() {
    loop.cancel(timer)
    for destination in watched { destination.isWatchedNoMore() }
    watched = []
  }

  private func schedule(after now: MonotonicTime) {
    loop.schedule(timer, at: now.advanced(bySeconds: 1), handler: self)
  }

  /// Returns whether these were the destination's last reports.
  private func report(_ destination: DestinationState, _ now: MonotonicTime, isOneOfMany: Bool = false) -> Bool {
    let reports = destination.takeReports(at: now, isOneOfMany: isOneOfMany)
    tell(destination.destination, reports)
    return reports.areLast
  }
}

extension DestinationReports: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    let reported = watched
    watched = []
    // Destinations that are reported on stay in memory. If there are too many, load control forgets them sooner.
    let areMany = reported.count > DestinationTable.capacity
    let remaining = reported.filter { !report($0, now, isOneOfMany: areMany) }
    // The observer may have begun to watch other destinations meanwhile.
    watched += remaining
    if !watched.isEmpty { schedule(after: now) }
  }
}

/// Wakes the pace and the load control of one destination while attempts of this loop may wait for them. Bound to the loop.
final class DestinationAlarm {
  let destination: DestinationState
  private let loop: EventLoop
  private let tell: (Destination, OverloadState) -> Void
  private let timer = LoopTimer()

  init(_ destination: DestinationState, loop: EventLoop, tell: @escaping (Destination, OverloadState) -> Void) {
    self.destination = destination
    self.loop = loop
    self.tell = tell
  }

  var isArmed: Bool { timer.isArmed }

  func set(at time: MonotonicTime) {
    guard !timer.isArmed || time < timer.due else { return }
    loop.schedule(timer, at: time, handler: self)
  }

  func cancel() { loop.cancel(timer) }
}

extension DestinationAlarm: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    let turn = destination.wokePace(at: now)
    let (entered, next) = destination.wokeOverload(at: now)
    if let entered { tell(destination.destination, entered) }
    for time in [turn, next].compactMap(\.self) { set(at: time) }
  }
}
