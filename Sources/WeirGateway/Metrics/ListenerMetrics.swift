import WeirMetrics
import WeirServer

/// The metrics of the listeners, computed for each page from what their servers count.
final class ListenerMetrics: Collector {
  private static let connections = "weir_listener_connections"
  private static let accepted = "weir_listener_connections_accepted_total"
  private static let closed = "weir_listener_connections_closed_total"

  /// The listeners to tell of.
  let source = MetricsSource<(name: String, tallies: [ServerTally])>()

  var metrics: [CollectedMetric] {
    [
      CollectedMetric(
        Self.connections, help: "Open connections of clients: in a handshake, with a request under way, or idle.",
        kind: .gauge, labels: ["listener", "state"]),
      CollectedMetric(
        Self.accepted, help: "Connections of clients that were accepted.", kind: .counter, labels: ["listener"]),
      CollectedMetric(
        Self.closed, help: "Connections of clients that have ended, by why.", kind: .counter,
        labels: ["listener", "reason"]),
    ]
  }

  func collect(into samples: inout CollectedSamples) {
    for (name, tallies) in source.items {
      let counts = ListenerCounts(tallies)
      samples.set(Self.connections, Double(counts.handshaking), labels: [name, "handshake"])
      samples.set(Self.connections, Double(counts.active), labels: [name, "active"])
      samples.set(Self.connections, Double(counts.idle), labels: [name, "idle"])
      samples.set(Self.accepted, Double(tallies.reduce(0) { $0 + $1.accepted }), labels: [name])
      for ending in ConnectionEnding.allCases {
        let count = tallies.reduce(0) { $0 + $1.ended(ending) }
        samples.set(Self.closed, Double(count), labels: [name, ending.rawValue])
      }
    }
  }
}

/// The open connections of a listener, by state.
struct ListenerCounts {
  let handshaking: Int
  let active: Int
  let idle: Int

  init(_ tallies: [ServerTally]) {
    let open = tallies.reduce(0) { $0 + $1.open }
    // Each number is read at a moment of its own.
    handshaking = min(open, max(0, tallies.reduce(0) { $0 + $1.handshaking }))
    active = min(open - handshaking, max(0, tallies.reduce(0) { $0 + $1.active }))
    idle = open - handshaking - active
  }
}
