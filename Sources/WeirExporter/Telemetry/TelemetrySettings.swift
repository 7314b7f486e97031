import Weir
package import WeirTransport

/// The signals that are exported, where to and how often. The defaults are OpenTelemetry's, but for one: nothing is on without an
/// endpoint. Times are in seconds.
package struct TelemetrySettings: Sendable, Hashable {
  /// How one kind of telemetry is exported.
  package struct Signal: Sendable, Hashable {
    /// Whether it is exported, if there is an endpoint.
    package var isOn = true
    /// The collector of all kinds; its URL is empty if there is none.
    package var endpoint = OTLPEndpoint("")
    /// The whole URL for this kind, in place of the endpoint's.
    package var ownURL: String?
    /// The time between two exports. Spans go sooner once there is a batch of them.
    package var interval: Double
    /// The limit of one export with its repeats.
    package var timeout = 30.0
  }

  /// Whether nothing at all is exported (`OTEL_SDK_DISABLED`).
  package var isDisabled = false
  package var traces = Signal(interval: 5)
  package var metrics = Signal(interval: 60)
  /// Whether native histograms are sent as exponential ones, without the bounds of the page.
  package var hasExponentialHistograms = false
  /// The most spans that wait for an export or are under way.
  package var queue = 2048
  /// The most spans of one export.
  package var batch = 512
  /// `service.name`; nil for the one of the resource's attributes, or the program's own.
  package var serviceName: String?
  /// Further attributes of the resource.
  package var resource: [String: String] = [:]
  /// Which traces are sampled; nil if only the program says so.
  package var sampler: TraceSampler?

  package init() {}

  package subscript(signal: TelemetrySignal) -> Signal {
    get { signal == .traces ? traces : metrics }
    set { if signal == .traces { traces = newValue } else { metrics = newValue } }
  }

  /// The URL to which a signal goes; nil if it is not exported.
  package func url(of signal: TelemetrySignal) -> String? {
    let own = self[signal]
    guard !isDisabled, own.isOn else { return nil }
    return own.ownURL ?? (own.endpoint.url.isEmpty ? nil : own.endpoint.url(of: signal))
  }

  /// Whether there is a collector, for any signal that may be on or off.
  package var hasEndpoint: Bool {
    TelemetrySignal.allCases.contains { self[$0].ownURL != nil || !self[$0].endpoint.url.isEmpty }
  }

  /// Whether anything is exported.
  package var isOn: Bool { TelemetrySignal.allCases.contains { url(of: $0) != nil } }
}
