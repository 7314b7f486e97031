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

  @Test(
    arguments: [
      ([.terminate], [.becomeUnready, .delay], .delaying),
      ([.terminate, .hangUp, .drained], [.becomeUnready, .delay], .delaying),
      ([.terminate, .delayed], [.becomeUnready, .delay, .drain], .draining),
      ([.terminate, .delayed, .drained], [.becomeUnready, .delay, .drain, .exit(0)], .ended),
      ([.terminate, .terminate, .delayed], [.becomeUnready, .delay, .drain], .draining),
      ([.terminate, .terminate, .terminate], [.becomeUnready, .delay, .drain, .exit(1)], .ended),
      ([.delayed], [], .running),
    ] as [([Lifecycle.Event], [Lifecycle.Action], Lifecycle.State)])
  func actsWithADelay(events: [Lifecycle.Event], actions: [Lifecycle.Action], state: Lifecycle.State) {
    var lifecycle = Lifecycle(hasDelay: true)
    let taken = events.flatMap { lifecycle.handle($0) }
    #expect(taken == actions)
    #expect(lifecycle.state == state)
  }
}
