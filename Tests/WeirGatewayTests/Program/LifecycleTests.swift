import Testing
import WeirTestSupport

@testable import WeirGateway

@Suite struct LifecycleTests {
  @Test(
    arguments: [
      ([], [], .running),
      ([.hangUp, .hangUp], [.reload, .reload], .running),
      ([.filesChanged, .terminate, .filesChanged], [.reload, .becomeUnready, .drain], .draining),
      ([.terminate], [.becomeUnready, .drain], .draining),
      ([.terminate, .drained], [.becomeUnready, .drain, .exit(0)], .ended),
      ([.terminate, .drainTimedOut], [.becomeUnready, .drain, .exit(0)], .ended),
      ([.terminate, .terminate], [.becomeUnready, .drain, .exit(1)], .ended),
      ([.terminate, .hangUp, .drained], [.becomeUnready, .drain, .reopenLog, .exit(0)], .ended),
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
      ([.terminate, .hangUp, .drained], [.becomeUnready, .delay, .reopenLog], .delaying),
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

  private static let busy = "a takeover is under way; reload when it is over"

  @Test(
    arguments: [
      ([.takeOver], [.startSuccessor], .takingOver),
      ([.takeOver, .takeOver], [.startSuccessor, .refuse("a takeover is under way already")], .takingOver),
      ([.takeOver, .hangUp], [.startSuccessor, .reopenLog, .refuse(busy)], .takingOver),
      ([.takeOver, .successorReady], [.startSuccessor, .handOver, .drain], .draining),
      ([.takeOver, .successorReady, .drained], [.startSuccessor, .handOver, .drain, .exit(0)], .ended),
      ([.takeOver, .successorReady, .terminate], [.startSuccessor, .handOver, .drain, .exit(1)], .ended),
      ([.takeOver, .successorFailed], [.startSuccessor], .running),
      ([.takeOver, .filesChanged, .successorFailed, .filesChanged], [.startSuccessor, .reload], .running),
      ([.takeOver, .successorFailed, .hangUp, .takeOver], [.startSuccessor, .reload, .startSuccessor], .takingOver),
      ([.takeOver, .terminate], [.startSuccessor, .endSuccessor, .becomeUnready, .drain], .draining),
      // Said before it was ended.
      ([.takeOver, .terminate, .successorReady], [.startSuccessor, .endSuccessor, .becomeUnready, .drain], .draining),
      (
        [.takeOver, .terminate, .successorFailed], [.startSuccessor, .endSuccessor, .becomeUnready, .drain], .draining
      ),
      (
        [.terminate, .takeOver], [.becomeUnready, .drain, .refuse("weir is ending; there is no takeover")], .draining
      ),
      ([.takeOver, .drained, .drainTimedOut, .delayed], [.startSuccessor], .takingOver),
      ([.successorReady, .successorFailed], [], .running),
    ] as [([Lifecycle.Event], [Lifecycle.Action], Lifecycle.State)])
  func actsAtATakeover(events: [Lifecycle.Event], actions: [Lifecycle.Action], state: Lifecycle.State) {
    var lifecycle = Lifecycle()
    let taken = events.flatMap { lifecycle.handle($0) }
    #expect(taken == actions)
    #expect(lifecycle.state == state)
  }

  /// The new process answers already: no load balancer has to notice anything.
  @Test func aTakeoverHasNoDelay() {
    var lifecycle = Lifecycle(hasDelay: true)
    let actions = [Lifecycle.Event.takeOver, .successorReady].flatMap { lifecycle.handle($0) }
    #expect(actions == [.startSuccessor, .handOver, .drain])
    var other = Lifecycle(hasDelay: true)
    let others = [Lifecycle.Event.takeOver, .terminate, .takeOver].flatMap { other.handle($0) }
    let refusal = Lifecycle.Action.refuse("weir is ending; there is no takeover")
    #expect(others == [.startSuccessor, .endSuccessor, .becomeUnready, .delay, refusal])
    #expect(other.state == .delaying)
  }

  /// However events come, there is one exit at most, and a new process is started, ended or begun in turn.
  @Test func anyOrderOfEventsIsFollowed() {
    var random = SeededRandom(seed: 16)
    for _ in 0..<2000 {
      var lifecycle = Lifecycle(hasDelay: Bool.random(using: &random))
      var actions: [Lifecycle.Action] = []
      var hasSuccessor = false
      for _ in 0..<12 {
        guard let event = Lifecycle.Event.allCases.randomElement(using: &random) else { return }
        if event == .successorFailed, lifecycle.state == .takingOver { hasSuccessor = false }
        for action in lifecycle.handle(event) {
          switch action {
          case .startSuccessor:
            #expect(!hasSuccessor)
            hasSuccessor = true
          case .endSuccessor, .handOver:
            #expect(hasSuccessor)
            hasSuccessor = false
          default: break
          }
          actions.append(action)
        }
      }
      #expect(actions.count { if case .exit = $0 { true } else { false } } <= 1)
      #expect(actions.count { $0 == .drain } <= 1)
    }
  }
}
