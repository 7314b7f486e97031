import Synchronization
import Weir
import WeirMetrics
import WeirTransport

/// The metrics of each destination. Those that differ only in their scheme have the same labels, and so the same
/// metrics. Those beyond the limit share one set of series, labelled `_other`.
final class DestinationIndex: Sendable {
  private struct State {
    var unknown: OperationIndex?
    var known: [Destination.Server: OperationIndex] = [:]
    var other: OperationIndex?
    /// The destination found last, since events of one request come together. Comparing its identity counts no
    /// references. The destination itself is kept so that no other one gets the same identity.
    var last: (identity: ObjectIdentifier, destination: Destination, metrics: OperationIndex)?
  }

  /// The name of the series shared by the destinations beyond the limit, and by the operations beyond theirs.
  static let sharedName = "_other"

  private let families: ClientMetrics
  private let limit: Int
  private let state = Mutex(State())

  init(_ families: ClientMetrics, limit: Int) {
    self.families = families
    self.limit = limit
  }

  func metrics(of destination: Destination?) -> DestinationMetrics { operations(of: destination).destination }

  /// The metrics of a destination's operations. Nil stands for a request whose URL could not be built.
  func operations(of destination: Destination?) -> OperationIndex {
    if let identity = destination?.identity, let last = last(identity) { return last }
    return state.withLock { find(destination, &$0) }
  }

  /// The metrics of a destination that has its own by now.
  func known(_ destination: Destination) -> DestinationMetrics? {
    state.withLock { $0.known[destination.server]?.destination }
  }

  private func last(_ identity: ObjectIdentifier) -> OperationIndex? {
    state.withLock { state in state.last?.identity == identity ? state.last?.metrics : nil }
  }

  private func find(_ destination: Destination?, _ state: inout State) -> OperationIndex {
    guard let destination else { return shared(&state.unknown, named: "unknown") }
    if let known = state.known[destination.server] {
      state.last = (destination.identity, destination, known)
      return known
    }
    guard state.known.count < limit else { return shared(&state.other, named: Self.sharedName) }
    let new = OperationIndex(
      DestinationMetrics(families, address: destination.host, port: String(destination.port)))
    state.known[destination.server] = new
    return new
  }

  /// Removes the metrics and series of servers, but for those that are in use. Returns these.
  func forget(_ servers: [Destination.Server]) -> [Destination.Server] {
    var gone = servers
    let used = state.withLock { state in
      let end = gone.partition(by: { state.known[$0]?.isQuiet == false })
      for server in gone[..<end] { state.known[server] = nil }
      state.last = nil
      return Array(gone[end...])
    }
    families.remove(gone.dropLast(used.count))
    return used
  }

  /// Removes the metrics and series of operations, but for those of which requests are under way. Returns these.
  func forget(operations names: [String]) -> [String] {
    // Mostly there are none, and this is asked for each page.
    if names.isEmpty { return [] }
    let all = all
    let used = names.filter { name in all.contains { $0.uses(name) } }
    let gone = names.filter { !used.contains($0) }
    for operations in all { for name in gone { operations.forget(name) } }
    families.remove(operations: gone)
    return used
  }

  private func shared(_ metrics: inout OperationIndex?, named name: String) -> OperationIndex {
    let known = metrics ?? OperationIndex(DestinationMetrics(families, address: name, port: name))
    metrics = known
    return known
  }

  var all: [OperationIndex] {
    state.withLock { state in Array(state.known.values) + [state.unknown, state.other].compactMap { $0 } }
  }
}

/// Open connections by state, computed when the page is written. The active ones are those that carry an attempt.
struct OpenConnections: Collector {
  private static let name = "http_client_open_connections"

  let destinations: DestinationIndex
  /// The number of label sets that may be shown.
  let limit: Int

  var metrics: [CollectedMetric] {
    var metric = CollectedMetric(
      Self.name, help: "Open connections by state.", kind: .gauge,
      labels: ["server_address", "server_port", "http_connection_state"])
    metric.seriesLimit = limit
    return [metric]
  }

  func collect(into samples: inout CollectedSamples) {
    for metrics in destinations.all.map(\.destination) {
      let open = max(0, metrics.openConnections.load(ordering: .relaxed))
      let active = min(open, max(0, Int(metrics.activeAttempts.value)))
      samples.set(Self.name, Double(active), labels: [metrics.address, metrics.port, "active"])
      samples.set(Self.name, Double(open - active), labels: [metrics.address, metrics.port, "idle"])
    }
  }
}
