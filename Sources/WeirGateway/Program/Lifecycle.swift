/// When the program begins to end, and with which exit status. A value; the shell carries out the actions in order.
///
/// Exits: `running` → `draining` by a first SIGTERM or SIGINT, → `ended` by a listener's failure; `draining` → `ended`
/// when all is done, when the time is up, or by a second signal.
struct Lifecycle: Equatable {
  enum State: Equatable {
    case running
    case draining
    case ended
  }

  enum Event: CaseIterable {
    /// SIGTERM or SIGINT.
    case terminate
    /// SIGHUP.
    case hangUp
    /// The last request under way has ended.
    case drained
    /// The time for that is up; what was left has been cut.
    case drainTimedOut
  }

  enum Action: Equatable {
    case reload
    /// `/-/ready` answers 503 from now on.
    case becomeUnready
    /// Stop accepting, let requests end.
    case drain
    case exit(CInt)
  }

  private(set) var state = State.running

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.running, .hangUp): return [.reload]
    case (.running, .terminate):
      state = .draining
      return [.becomeUnready, .drain]
    // Whoever asks twice does not want to wait.
    case (.draining, .terminate):
      state = .ended
      return [.exit(1)]
    case (.draining, .drained), (.draining, .drainTimedOut):
      state = .ended
      return [.exit(0)]
    case (.running, .drained), (.running, .drainTimedOut), (.draining, .hangUp), (.ended, _): return []
    }
  }
}
