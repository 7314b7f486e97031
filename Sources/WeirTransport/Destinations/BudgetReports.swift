import WeirIO

/// Tells monitors how many retries the budgets would grant: once a second for each destination that gets requests,
/// until a window passes without any. Bound to the loop.
///
/// A timer does this, so that it costs a request nothing. Only one of several sessions that share a destination reports
/// it.
final class BudgetReports {
  private let loop: EventLoop
  private let tell: (Destination, Double) -> Void
  private var watched: [DestinationState] = []
  private let timer = LoopTimer()

  init(loop: EventLoop, tell: @escaping (Destination, Double) -> Void) {
    self.loop = loop
    self.tell = tell
  }

  /// Reports the destination from now on.
  ///
  /// - Parameter budget: The budget to report, until a retry with another budget is asked for.
  func watch(_ destination: DestinationState, budget: RetryBudget?) {
    destination.reportsRetries(of: budget)
    watched.append(destination)
    report(destination, .now)
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

  private func report(_ destination: DestinationState, _ now: MonotonicTime) {
    if let available = destination.retriesToReport(at: now) { tell(destination.destination, available) }
  }
}

extension BudgetReports: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    for destination in watched { report(destination, now) }
    watched.removeAll { $0.leavesWatch(at: now) }
    if !watched.isEmpty { schedule(after: now) }
  }
}
