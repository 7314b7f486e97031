package import WeirCurl
package import WeirIO

/// One worker's view of an ``EndpointSet``: it picks without a lock, as long as the set's endpoints stay.
package struct EndpointPicker: Sendable {
  package let set: EndpointSet
  private var balancer = Balancer.empty
  private var generation = 0
  private var turn: Balancer.Turn

  /// - Parameter seed: Of the worker's random numbers.
  package init(_ set: EndpointSet, seed: UInt64 = .random(in: .min ... .max)) {
    self.set = set
    turn = Balancer.Turn(seed: seed)
  }

  /// Picks an endpoint for an attempt. The attempt tells it of its begin and end (``Endpoint/begins()``,
  /// ``Endpoint/leaves()``), and the set of how it went (``EndpointSet/ended(_:of:began:at:)``).
  ///
  /// - Parameters:
  ///   - key: ``EndpointKey/hash(_:)`` of what a consistent hash goes by; nil for a request without it.
  ///   - tried: The endpoints that the request has tried. One of them is picked only if no priority has another.
  ///   - isHedge: Whether the attempt is one beside others, which stays in their priority.
  ///   - now: Also the earliest time at which the attempt begins.
  /// - Returns: Nil without endpoints.
  package mutating func pick(
    key: UInt64? = nil, excluding tried: TriedEndpoints = TriedEndpoints(), isHedge: Bool = false,
    at now: MonotonicTime
  ) -> Endpoint? {
    let present = set.generation
    if present != generation {
      balancer = set.balancer
      generation = present
    }
    return balancer.pick(key: key, excluding: tried, isHedge: isHedge, &turn, at: now)
  }
}

/// The last eight endpoints that a request has tried, all of one set. A retry goes elsewhere while it can.
package struct TriedEndpoints: Sendable {
  private var numbers = SIMD8<UInt32>()
  private var next = 0

  package init() {}

  package mutating func insert(_ endpoint: Endpoint) {
    numbers[next & 7] = endpoint.number
    next = (next &+ 1) & 7
  }

  package func contains(_ endpoint: Endpoint) -> Bool {
    any(numbers .== SIMD8(repeating: endpoint.number))
  }

  package var isEmpty: Bool { numbers[0] == 0 }
}

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
final class EndpointHistory {
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
