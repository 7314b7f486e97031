import Dispatch
import Synchronization
import WeirIO

/// A request that waits for a refresh.
struct RefreshWaiter: Sendable {
  let context: SessionContext
  /// The refreshes that the request is a part of.
  let scope: RefreshScope?
  let go: @Sendable (RefreshOutcome) -> Void
}

// Calls of the authenticator, and the consequences of their ends.
extension AuthenticationInterceptor {
  /// Asks the authenticator for a new credential, on behalf of a waiting request.
  func refresh(_ call: Machine.Call, for waiter: RefreshWaiter) {
    let context = waiter.context
    queue.async { [self] in
      let began = MonotonicTime.now
      // An authenticator may keep this closure for any time, so it must keep nothing else alive.
      let end: @Sendable (Result<Credential, any Error>) -> Void = { [weak self, weak context] result in
        self?.ended(call, result, after: MonotonicTime.now.seconds(since: began), context)
      }
      guard let session = context.session, !session.isOver else { return withdraw(call) }
      tell(context, .began, machine.withLock { $0.waiterCount })
      RefreshScope.$current.withValue(RefreshScope(of: owner, within: waiter.scope)) {
        authenticator.refresh(call.credential, for: session, completion: end)
      }
    }
  }

  private func withdraw(_ call: Machine.Call) {
    let (action, count) = change { ($0.withdrew(call.number, at: .now), $0.waiterCount) }
    perform(action, count)
  }

  /// Called on any thread, also within the authenticator's `refresh`, and perhaps more than once.
  private func ended(
    _ call: Machine.Call, _ result: Result<Credential, any Error>, after duration: TimeInterval,
    _ context: SessionContext?
  ) {
    var discards = false
    if case .failure(let error) = result, machine.withLock({ $0.isWanted(call.number) }) {
      discards = authenticator.shouldDiscard(call.credential, afterRefreshFailure: error)
    }
    let (action, hasEnded, count) = change { machine in
      let hasEnded = machine.isRunning(call.number)
      return (machine.ended(call.number, result, discards: discards, at: .now), hasEnded, machine.waiterCount)
    }
    if hasEnded, let context {
      tell(context, .ended(after: duration, result.failure == nil ? .success : .failure), count)
    }
    perform(action, count)
  }

  func perform(_ action: Machine.Action, _ count: Int) {
    switch action {
    case .none: break
    case .refresh(let call, let waiter): refresh(call, for: waiter)
    case .release(let waiters, let outcome):
      if case .excessiveRefresh = outcome, let context = waiters.first?.context {
        tell(context, .ended(after: 0, .excessive), count)
      }
      release(waiters, outcome, count)
    }
  }

  /// Each waiter continues on its session's loop. Adapters and retriers run next; they must not run in the middle of a
  /// refresh, nor on the thread that has set a credential.
  private func release(_ waiters: [RefreshWaiter], _ outcome: RefreshOutcome, _ count: Int) {
    for waiter in waiters {
      tell(waiter.context, .waiting(change: -1), count)
      waiter.context.loop.post { waiter.go(outcome) }
    }
  }

  // MARK: Events

  /// Tells the monitors of the session that the event is about.
  func tell(_ context: SessionContext, _ kind: RefreshEvent.Kind, _ waiters: Int) {
    guard context.monitors.wants(.refreshes) else { return }
    let event = RefreshEvent(interceptor: name ?? String(describing: Self.self), kind: kind, waiters: waiters)
    context.loop.post { context.monitors.session(context.sessionOrRemains, refresh: event) }
  }
}
