package import WeirCurl
import WeirIO

/// One loop's choice among the endpoints of a set. Confined to the loop.
package final class EndpointChoice {
  let set: EndpointSet
  @exclusivity(unchecked) private var picker: EndpointPicker
  private let follower: EndpointFollower
  /// Hears of updates for as long as this choice is used.
  private let watch: EndpointWatch

  /// - Parameter closeIdleConnections: Called on the loop with endpoints that are gone.
  init(_ set: EndpointSet, on loop: EventLoop, closeIdleConnections: @escaping ([TransferEndpoint]) -> Void) {
    self.set = set
    picker = EndpointPicker(set)
    let follower = EndpointFollower(set, on: loop, closeIdleConnections)
    self.follower = follower
    watch = follower.watch()
    set.add(watch)
  }

  /// Whether there is no endpoint at all.
  package var isEmpty: Bool { self.set.isEmpty }

  /// Calls `then` once the set has endpoints.
  package func awaitsEndpoints(_ owner: AnyObject, then: @escaping () -> Void) {
    follower.waiting[ObjectIdentifier(owner)] = then
  }

  package func stopsWaiting(_ owner: AnyObject) { follower.waiting[ObjectIdentifier(owner)] = nil }

  func pick(key: UInt64?, excluding tried: TriedEndpoints, isHedge: Bool, at now: MonotonicTime) -> Endpoint? {
    picker.pick(key: key, excluding: tried, isHedge: isHedge, at: now)
  }
}

/// Acts for a choice when its set is updated. Updates refer to it weakly, and a weak reference to the choice itself would
/// make each of its retains slow. Confined to the loop.
private final class EndpointFollower {
  /// The most that go on in one turn.
  private static let mostAtOnce = 64

  /// The calls of those that wait for the set to have endpoints.
  var waiting: [ObjectIdentifier: () -> Void] = [:]
  private let set: EndpointSet
  private let loop: EventLoop
  private let closeIdleConnections: ([TransferEndpoint]) -> Void

  init(_ set: EndpointSet, on loop: EventLoop, _ closeIdleConnections: @escaping ([TransferEndpoint]) -> Void) {
    self.set = set
    self.loop = loop
    self.closeIdleConnections = closeIdleConnections
  }

  func watch() -> EndpointWatch {
    let bound = LoopBound(confining: WeakFollower(follower: self), on: loop)
    return EndpointWatch { gone in bound.loop.post { bound.value.follower?.updated(gone) } }
  }

  private func updated(_ gone: [TransferEndpoint]) {
    closeIdleConnections(gone)
    wake()
  }

  /// Lets those go on that wait, some in each turn.
  private func wake() {
    guard !waiting.isEmpty, !set.isEmpty else { return }
    for owner in Array(waiting.keys.prefix(Self.mostAtOnce)) { waiting.removeValue(forKey: owner)?() }
    if waiting.isEmpty { return }
    let bound = LoopBound(confining: WeakFollower(follower: self), on: loop)
    loop.post { bound.value.follower?.wake() }
  }
}

private struct WeakFollower {
  weak var follower: EndpointFollower?
}

/// Hears of a set's updates, with the endpoints that are gone, on any thread.
package final class EndpointWatch: Sendable {
  let onUpdate: @Sendable ([TransferEndpoint]) -> Void

  package init(_ onUpdate: @escaping @Sendable ([TransferEndpoint]) -> Void) {
    self.onUpdate = onUpdate
  }
}

/// An exchange's attempts at the endpoints of a set. An object, so that an exchange without any stays small.
final class EndpointTrail {
  let set: EndpointSet
  /// The endpoints that were tried.
  @exclusivity(unchecked) var tried = TriedEndpoints()
  /// The last of them.
  @exclusivity(unchecked) var last: Endpoint?
  /// Retries because no connection could be opened.
  @exclusivity(unchecked) var connectRetries = 0

  init(_ set: EndpointSet) {
    self.set = set
  }
}
