import Synchronization
import WeirIO

/// The state that a process keeps per destination. Sessions of one process may share it, so it is locked, not
/// loop-confined.
package final class DestinationState: Sendable {
  /// Tells a waiter that it has a slot: by posting a job to its loop, never at once. Slots are given up in the middle
  /// of other steps. If thousands of waiters ended as soon as they were admitted, each would do so inside the one
  /// before.
  typealias Waiter = @Sendable () -> Void

  /// A request's first question for a slot, by which the request counts as started.
  struct Start {
    /// False for a request that is itself another client's retry.
    var earnsRetryBudget = true
    /// Whether the asking session reports retry budgets to monitors.
    var isObserved = false
    /// The settings of the adaptive limit; nil if the number of slots is fixed.
    var adaptiveConcurrency: AdaptiveConcurrency?
  }

  // Internal, as the extensions on the circuit and the limit use them.
  struct Fields: Sendable {
    var admission: Admission<Waiter>
    var retries: RetryLedger
    var reports = RetryReports()
    var lastAsked: MonotonicTime
    /// Nil until a request comes with a circuit breaker.
    var circuit: Circuit?
    /// Nil until a request comes with an adaptive limit.
    var limit: ConcurrencyLimit?
    var lastLimitReport: MonotonicTime?

    /// Creates the adaptive limit. It admits no waiter, as the limit is no higher than the slots were.
    mutating func beginLimit(_ settings: AdaptiveConcurrency, _ slots: Int, at now: MonotonicTime) {
      let limit = ConcurrencyLimit(settings, maximum: slots, at: now)
      self.limit = limit
      _ = admission.resize(to: limit.slots)
    }
  }

  /// The state of the reports on the retry budget.
  struct RetryReports: Sendable {
    var isWatched = false
    var budget: RetryBudget?
    var last: MonotonicTime?
  }

  package let destination: Destination
  /// The number of slots without an adaptive limit.
  let slots: Int
  let fields: Mutex<Fields>
  /// Nil, and not consulted, until a request hedges by a quantile.
  private let latencies = Mutex<RecentLatencies?>(nil)
  private let watchesLatencies = Atomic(false)

  init(destination: Destination, slots: Int, maximumWaiting: Int, now: MonotonicTime = .now) {
    self.destination = destination
    self.slots = slots
    fields = Mutex(
      Fields(
        admission: Admission(slots: slots, maximumWaiting: maximumWaiting), retries: RetryLedger(at: now),
        lastAsked: now))
  }

  // MARK: Slots

  /// The numbers of slots taken, transfers parked, and attempts waiting for their first slot.
  var occupancy: [Int] { fields.withLock { [$0.admission.taken, $0.admission.parked, $0.admission.waiting] } }

  /// When a first slot was last asked for, or the destination became known.
  var lastAsked: MonotonicTime { fields.withLock { $0.lastAsked } }

  /// Asks for an attempt's first slot.
  ///
  /// - Parameter start: Nil when the request counts as started already.
  /// - Returns: The answer, and whether the asker is to report the retry budget from now on, as no other session does.
  func ask(
    _ start: Start?, at now: MonotonicTime, _ waiter: @autoclosure () -> Waiter
  ) -> (answer: Admission<Waiter>.Answer, beginsWatch: Bool) {
    fields.withLock { fields in
      fields.lastAsked = now
      var beginsWatch = false
      if let start {
        beginsWatch = start.isObserved && !fields.reports.isWatched
        if beginsWatch { fields.reports.isWatched = true }
        if let adaptive = start.adaptiveConcurrency, fields.limit == nil { fields.beginLimit(adaptive, slots, at: now) }
      }
      let answer = fields.admission.ask(waiter())
      // A request that is turned away puts nothing on the destination that would have to be retried.
      if let start, answer != .queueFull {
        fields.retries.started(at: now, earnsRetryBudget: start.earnsRetryBudget)
      }
      return (answer, beginsWatch)
    }
  }

  func askAgain(_ waiter: @autoclosure () -> Waiter) -> Admission<Waiter>.Answer {
    fields.withLock { $0.admission.askAgain(waiter()) }
  }

  var hasFreeSlot: Bool { fields.withLock { $0.admission.taken < $0.admission.slots } }

  func takeFreeSlot() -> Bool { fields.withLock { $0.admission.take() } }

  /// Returns whether the slot was given up; if not, the transfer keeps it.
  func park() -> Bool {
    switch changeAdmission({ $0.park() }) {
    case .parked(let next):
      next?.waiter()
      return true
    case .refused: return false
    }
  }

  func unpark() {
    fields.withLock { $0.admission.unpark() }
  }

  func release() {
    changeAdmission { $0.release() }?.waiter()
  }

  func withdraw(_ ticket: Admission<Waiter>.Ticket) {
    changeAdmission { $0.withdraw(ticket) }
  }

  func withdrawAgain(_ ticket: Admission<Waiter>.Ticket) {
    changeAdmission { $0.withdrawAgain(ticket) }
  }

  /// Changes the admission. Entries that left the queue are released after the lock, as they hold objects of the
  /// caller.
  func changeAdmission<Answer>(_ change: (inout Admission<Waiter>) -> Answer) -> Answer {
    let (answer, departed) = fields.withLock { (change(&$0.admission), $0.admission.takeDeparted()) }
    withExtendedLifetime(departed) {}
    return answer
  }

  // MARK: Retries

  /// Whether a retry is within the budget; a nil budget is unlimited. If it is, it counts from now on.
  func grantsRetry(by budget: RetryBudget?, at now: MonotonicTime) -> Bool {
    fields.withLock { fields in
      if let budget { fields.reports.budget = budget }
      return fields.retries.grant(by: budget, at: now)
    }
  }

  /// Whether a retry would be within the budget.
  func hasRetry(by budget: RetryBudget?, at now: MonotonicTime) -> Bool {
    guard let budget else { return true }
    return fields.withLock { $0.retries.available(of: budget, at: now) >= 1 }
  }

  /// Sets the budget that is reported, until a retry is asked for with another one.
  func reportsRetries(of budget: RetryBudget?) {
    fields.withLock { $0.reports.budget = budget }
  }

  /// The retries that the budget would grant; nil when there is no budget, or when the last report is less than a
  /// second old.
  func retriesToReport(at now: MonotonicTime) -> Double? {
    fields.withLock { fields in
      guard let budget = fields.reports.budget else { return nil }
      if let last = fields.reports.last, now.nanoseconds - last.nanoseconds < 1_000_000_000 { return nil }
      fields.reports.last = now
      return fields.retries.available(of: budget, at: now)
    }
  }

  /// Whether there is nothing left to report. If so, the next request's session begins to report again.
  func leavesWatch(at now: MonotonicTime) -> Bool {
    fields.withLock { fields in
      let window = fields.reports.budget?.boundedWindow ?? RetryBudget.windows.lowerBound
      guard fields.retries.isQuiet(for: window, at: now) else { return false }
      fields.reports.isWatched = false
      return true
    }
  }

  /// The reporting session stops reporting.
  func isWatchedNoMore() {
    fields.withLock { $0.reports.isWatched = false }
  }
}

// The latencies of responses, for hedges by quantile.
extension DestinationState {
  /// Whether latencies are to be recorded.
  var watchesLatency: Bool { watchesLatencies.load(ordering: .relaxed) }

  func note(latency seconds: Double) {
    latencies.withLock { $0?.note(seconds, at: .now) }
  }

  /// The latency that this share of the recent responses did not exceed, in seconds; nil when too few are known. The
  /// first call starts the recording.
  func latency(quantile share: Double) -> Double? {
    latencies.withLock { latencies in
      if latencies == nil { latencies = RecentLatencies() }
      watchesLatencies.store(true, ordering: .relaxed)
      return latencies?.quantile(share, at: .now)
    }
  }
}
