/// Decides when the program begins to end, and with which exit status, and when another process takes over. A value; the
/// shell carries out the actions in order.
///
/// Exits: a first SIGTERM or SIGINT leads from `running` and `takingOver` to `delaying`, or to `draining` if there is no
/// delay. The end of the delay, or another signal, leads from `delaying` to `draining`. SIGUSR2 leads from `running` to
/// `takingOver`. A new process that is ready leads from there to `draining`, one that fails back to `running`. The last
/// request's end, the drain's timeout, or another signal leads from `draining` to `ended`.
struct Lifecycle: Equatable {
  enum State: Equatable {
    case running
    /// A new process has been started and is not ready yet.
    case takingOver
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
    /// Files of the configuration have changed. While a new process or the end is near, nothing comes of it; if a takeover
    /// fails, the next look at the files tells of it again.
    case filesChanged
    /// SIGUSR2.
    case takeOver
    /// The new process is ready to accept.
    case successorReady
    /// The new process can't be started or has been ended.
    case successorFailed
    /// The delay before the drain is over.
    case delayed
    /// The last request under way has ended.
    case drained
    /// The time for the drain is up; the remaining requests have been cut.
    case drainTimedOut
  }

  enum Action: Equatable {
    case reload
    /// Open the access log anew, since its file may have been renamed. A reload does it too.
    case reopenLog
    /// Say why a signal is not followed.
    case refuse(String)
    case startSuccessor
    case endSuccessor
    /// The new process is the service from now on.
    case handOver
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
    case (.running, .hangUp), (.running, .filesChanged): return [.reload]
    case (.running, .terminate): return beginEnd()
    case (.running, .takeOver):
      state = .takingOver
      return [.startSuccessor]
    // The new process may have read its files already.
    case (.takingOver, .hangUp): return [.reopenLog, .refuse("a takeover is under way; reload when it is over")]
    case (.delaying, .hangUp), (.draining, .hangUp): return [.reopenLog]
    case (.takingOver, .takeOver): return [.refuse("a takeover is under way already")]
    case (.takingOver, .terminate): return [.endSuccessor] + beginEnd()
    case (.takingOver, .successorReady):
      state = .draining
      return [.handOver, .drain]
    case (.takingOver, .successorFailed):
      state = .running
      return []
    case (.delaying, .takeOver), (.draining, .takeOver): return [.refuse("weir is ending; there is no takeover")]
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
    case (.running, _), (.takingOver, _), (.delaying, _), (.draining, _), (.ended, _):
      return []
    }
  }

  private mutating func beginEnd() -> [Action] {
    state = hasDelay ? .delaying : .draining
    return [.becomeUnready, hasDelay ? .delay : .drain]
  }
}
