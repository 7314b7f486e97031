import Synchronization
import Weir

/// The metrics of each destination. Those beyond the limit share one set of series, labelled `_other`.
final class DestinationIndex: Sendable {
  private struct State {
    var unknown: DestinationMetrics?
    var known: [Destination: DestinationMetrics] = [:]
    var other: DestinationMetrics?
    /// The last one found, since events of one request come together: its identity, so that a look costs no reference
    /// counting, and what keeps that identity from being given to another destination.
    var lastIdentity: ObjectIdentifier?
    var last: DestinationMetrics?
    var lastDestination: Destination?
  }

  private let families: ClientMetrics
  private let limit: Int
  private let state = Mutex(State())

  init(_ families: ClientMetrics, limit: Int) {
    self.families = families
    self.limit = limit
  }

  /// Nil stands for a request whose URL could not be built.
  func metrics(of destination: Destination?) -> DestinationMetrics {
    state.withLock { state in
      guard let destination else { return shared(&state.unknown, named: "unknown") }
      if state.lastIdentity == destination.identity, let last = state.last { return last }
      if let known = state.known[destination] {
        state.lastIdentity = destination.identity
        state.last = known
        state.lastDestination = destination
        return known
      }
      if state.known.count < limit {
        let new = DestinationMetrics(families, address: destination.host, port: String(destination.port))
        state.known[destination] = new
        return new
      }
      return shared(&state.other, named: "_other")
    }
  }

  private func shared(_ metrics: inout DestinationMetrics?, named name: String) -> DestinationMetrics {
    let known = metrics ?? DestinationMetrics(families, address: name, port: name)
    metrics = known
    return known
  }

  var all: [DestinationMetrics] {
    state.withLock { state in Array(state.known.values) + [state.unknown, state.other].compactMap { $0 } }
  }
}
