import Synchronization
import WeirMetrics
import WeirTLS

/// The metrics of the TLS of listeners. Series of listeners that a reload has removed go with it.
final class TLSMetrics: Collector {
  private static let notAfter = "weir_tls_certificate_not_after_seconds"

  private let handshakes: CounterFamily<(String, String, String, String)>
  private let duration: HistogramFamily<String>
  private let reloads: CounterFamily<(String, String)>
  private let known = Mutex<Set<String>>([])
  /// The listeners with TLS, each with the certificates that it shows now.
  let source = MetricsSource<(name: String, certificates: [TLSServerContext.CertificateFacts])>()

  init(_ registry: Registry) throws(RegistryError) {
    handshakes = try registry.counter(
      "weir_tls_handshakes_total", help: "TLS handshakes of clients that have ended, by how.",
      labels: "listener", "result", "version", "resumed")
    duration = try registry.histogram(
      "weir_tls_handshake_duration_seconds", help: "Duration of successful TLS handshakes, from their first byte on.",
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10], labels: "listener")
    reloads = try registry.counter(
      "weir_tls_reloads_total",
      help: "Times that changed files of a listener's TLS were read, by whether they are used.",
      labels: "listener", "result")
    try registry.register(self)
  }

  /// Makes the series of these listeners with TLS at zero, so that the first failure is an increase, and removes those
  /// of others.
  func follow(_ listeners: [String]) {
    let gone = known.withLock { known in
      defer { known = Set(listeners) }
      return known.subtracting(listeners)
    }
    for listener in listeners {
      for result in ["success", "failure"] { _ = reloads.with(listener, result) }
      _ = duration.with(listener)
    }
    let choice = LabelChoice(["listener"], gone.map { [$0] })
    handshakes.removeAll(choice)
    duration.removeAll(choice)
    reloads.removeAll(choice)
  }

  func ended(_ handshake: TLSHandshake, at listener: String) {
    // A listener that a reload has removed may still end a handshake.
    guard known.withLock({ $0.contains(listener) }) else { return }
    let resumed = handshake.version.isEmpty ? "" : handshake.isResumed ? "true" : "false"
    handshakes.with(listener, handshake.result, handshake.version, resumed).increment()
    if handshake.result == TLSHandshake.success { duration.with(listener).observe(handshake.seconds) }
  }

  func reloaded(_ listener: String, isSuccess: Bool) {
    reloads.with(listener, isSuccess ? "success" : "failure").increment()
  }

  var metrics: [CollectedMetric] {
    [
      CollectedMetric(
        Self.notAfter, help: "When the certificates of listeners end, Unix time.", kind: .gauge,
        labels: ["listener", "certificate"])
    ]
  }

  /// Of several certificates of one name, as of an RSA and an ECDSA key, the one that ends first is shown.
  func collect(into samples: inout CollectedSamples) {
    for (listener, certificates) in source.items {
      for (name, group) in Dictionary(grouping: certificates, by: { $0.name ?? "" }) {
        samples.set(Self.notAfter, Double(group.map(\.notAfter).min() ?? 0), labels: [listener, name])
      }
    }
  }
}
