/// Decides when the program begins to end, and with which exit status. A value; the shell carries out the actions in
/// order.
///
/// Exits: a first SIGTERM or SIGINT leads from `running` to `delaying`, or to `draining` if there is no delay. The end
/// of the delay, or another signal, leads from `delaying` to `draining`. The last request's end, the drain's timeout,
/// or another signal leads from `draining` to `ended`.
struct Lifecycle: Equatable {
  enum State: Equatable {
    case running
    /// Not ready, but still accepting, until load balancers have noticed.
    case delaying
    case draining
    case ended
  }

  enum Event: CaseIterable {
    /// SIGTERM or SIGINT.
    case terminate
    /// SIGHUP.
    case hangUp
    /// The delay before the drain is over.
    case delayed
    /// The last request under way has ended.
    case drained
    /// The time for the drain is up; the remaining requests have been cut.
    case drainTimedOut
  }

  enum Action: Equatable {
    case reload
    /// `/-/ready` answers 503 from now on.
    case becomeUnready
    /// Wait for the end of the delay.
    case delay
    /// Stop accepting, let requests end.
    case drain
    case exit(CInt)
  }

  private(set) var state = State.running
  /// Whether there is a delay between the signal and the drain.
  var hasDelay = false

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.running, .hangUp): return [.reload]
    case (.running, .terminate):
      state = hasDelay ? .delaying : .draining
      return [.becomeUnready, hasDelay ? .delay : .drain]
    // A second signal means that the operator does not want to wait any longer.
    case (.delaying, .terminate), (.delaying, .delayed):
      state = .draining
      return [.drain]
    case (.draining, .terminate):
      state = .ended
      return [.exit(1)]
    case (.draining, .drained), (.draining, .drainTimedOut):
      state = .ended
      return [.exit(0)]
    case (.running, .drained), (.running, .drainTimedOut), (.running, .delayed), (.delaying, _),
      (.draining, .hangUp), (.draining, .delayed), (.ended, _):
      return []
    }
  }
}
