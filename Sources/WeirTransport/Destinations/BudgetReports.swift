import WeirIO

/// Tells monitors what is left of retry budgets: once a second for each destination that requests go to, and no more
/// when its last window saw none. Bound to the loop.
///
/// By a timer, so that a request has nothing to do with it. Of several sessions that share a destination one tells of it.
final class BudgetReports {
  private let loop: EventLoop
  private let tell: (Destination, Double) -> Void
  private var watched: [DestinationState] = []
  private let timer = LoopTimer()

  init(loop: EventLoop, tell: @escaping (Destination, Double) -> Void) {
    self.loop = loop
    self.tell = tell
  }

  /// From now on this one tells of the destination.
  ///
  /// - Parameter budget: What is told of, until a retry is asked about that has another.
  func watch(_ destination: DestinationState, budget: RetryBudget?) {
    destination.reportsRetries(of: budget)
    watched.append(destination)
    report(destination, .now)
    if !timer.isArmed { schedule(after: .now) }
  }

  /// Leaves the destinations to others.
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
