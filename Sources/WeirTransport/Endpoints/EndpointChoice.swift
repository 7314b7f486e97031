package import WeirCurl
import WeirIO

/// One loop's choice among the endpoints of a set. Confined to the loop.
package final class EndpointChoice {
  let set: EndpointSet
  @exclusivity(unchecked) private var picker: EndpointPicker
  /// Hears of updates for as long as this choice is used.
  private var watch: EndpointWatch?
  private var bound: LoopBound<WeakChoice>?
  private let closeIdleConnections: ([TransferEndpoint]) -> Void
  /// The calls of those that wait for the set to have endpoints.
  private var waiting: [ObjectIdentifier: () -> Void] = [:]

  /// - Parameter closeIdleConnections: Called on the loop with endpoints that are gone.
  init(_ set: EndpointSet, on loop: EventLoop, closeIdleConnections: @escaping ([TransferEndpoint]) -> Void) {
    self.set = set
    picker = EndpointPicker(set)
    self.closeIdleConnections = closeIdleConnections
    let bound = LoopBound(confining: WeakChoice(choice: self), on: loop)
    self.bound = bound
    let watch = EndpointWatch { gone in bound.loop.post { bound.value.choice?.updated(gone) } }
    self.watch = watch
    set.add(watch)
  }

  private func updated(_ gone: [TransferEndpoint]) {
    closeIdleConnections(gone)
    wake()
  }

  /// Lets those go on that wait, some in each turn.
  private func wake() {
    guard !waiting.isEmpty, !set.isEmpty else { return }
    for owner in Array(waiting.keys.prefix(Self.mostAtOnce)) { waiting.removeValue(forKey: owner)?() }
    if !waiting.isEmpty { bound?.loop.post { [bound] in bound?.value.choice?.wake() } }
  }

  /// The most that go on in one turn.
  private static let mostAtOnce = 64

  /// Whether there is no endpoint at all.
  package var isEmpty: Bool { self.set.isEmpty }

  /// Calls `then` once the set has endpoints.
  package func awaitsEndpoints(_ owner: AnyObject, then: @escaping () -> Void) {
    waiting[ObjectIdentifier(owner)] = then
  }

  package func stopsWaiting(_ owner: AnyObject) { waiting[ObjectIdentifier(owner)] = nil }

  func pick(key: UInt64?, excluding tried: TriedEndpoints, at now: MonotonicTime) -> Endpoint? {
    picker.pick(key: key, excluding: tried, at: now)
  }
}

private struct WeakChoice {
  weak var choice: EndpointChoice?
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
