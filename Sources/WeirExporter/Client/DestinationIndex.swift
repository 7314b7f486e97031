import Synchronization
import Weir

/// The metrics of each destination. Those beyond the limit share one set of series, labelled `_other`.
final class DestinationIndex: Sendable {
  private struct State {
    var known: [Destination: DestinationMetrics] = [:]
    var other: DestinationMetrics?
  }

  private let families: ClientMetrics
  private let limit: Int
  private let unknown: DestinationMetrics
  private let state = Mutex(State())

  init(_ families: ClientMetrics, limit: Int) {
    self.families = families
    self.limit = limit
    unknown = DestinationMetrics(families, address: "unknown", port: "unknown")
  }

  /// Nil stands for a request whose URL could not be built.
  func metrics(of destination: Destination?) -> DestinationMetrics {
    guard let destination else { return unknown }
    return state.withLock { state in
      if let known = state.known[destination] { return known }
      if state.known.count < limit {
        let new = DestinationMetrics(families, address: destination.host, port: String(destination.port))
        state.known[destination] = new
        return new
      }
      let other = state.other ?? DestinationMetrics(families, address: "_other", port: "_other")
      state.other = other
      return other
    }
  }

  var all: [DestinationMetrics] {
    state.withLock { state in Array(state.known.values) + (state.other.map { [$0] } ?? []) }
  }
}
