import Testing

@testable import WeirGateway

@Suite struct LifecycleTests {
  @Test(
    arguments: [
      ([], [], .running),
      ([.hangUp, .hangUp], [.reload, .reload], .running),
      ([.terminate], [.becomeUnready, .drain], .draining),
      ([.terminate, .drained], [.becomeUnready, .drain, .exit(0)], .ended),
      ([.terminate, .drainTimedOut], [.becomeUnready, .drain, .exit(0)], .ended),
      ([.terminate, .terminate], [.becomeUnready, .drain, .exit(1)], .ended),
      ([.terminate, .hangUp, .drained], [.becomeUnready, .drain, .exit(0)], .ended),
      ([.drained, .drainTimedOut], [], .running),
      (
        [.terminate, .drained, .terminate, .drained, .drainTimedOut, .hangUp], [.becomeUnready, .drain, .exit(0)],
        .ended
      ),
    ] as [([Lifecycle.Event], [Lifecycle.Action], Lifecycle.State)])
  func acts(events: [Lifecycle.Event], actions: [Lifecycle.Action], state: Lifecycle.State) {
    var lifecycle = Lifecycle()
    let taken = events.flatMap { lifecycle.handle($0) }
    #expect(taken == actions)
    #expect(lifecycle.state == state)
  }
}
