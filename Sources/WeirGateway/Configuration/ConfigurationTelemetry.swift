import Weir
package import WeirExporter
import WeirIO
import WeirTransport

/// How the gateway exports spans and metrics.
package struct GatewayTelemetry: Sendable, Equatable {
  package var settings: TelemetrySettings
  /// The proxy on the way to the collector.
  package var proxy = ProxySettings.off
  /// The name of the credential with which messages go to the collector; nil for none.
  package var credential: String?

  package init(_ settings: TelemetrySettings) { self.settings = settings }
}

/// Completes the section `telemetry` with what it names, and with the environment's variables.
struct ConfigurationTelemetry {
  /// Nil if nothing is exported.
  let telemetry: GatewayTelemetry?

  /// - Parameters:
  ///   - read: Nil if the section could not be read.
  ///   - root: The whole file.
  init(
    _ read: ReadTelemetry?, _ root: ConfigurationGiven, _ proxies: ConfigurationProxies,
    _ credentials: inout ConfigurationCredentials
  ) {
    let environment = root.reader.findings.telemetry
    guard !root.has("telemetry") || read?.given != nil else {
      telemetry = nil
      return
    }
    var made = GatewayTelemetry(read?.settings ?? environment.settings)
    let given = read?.given
    // The file's proxy is on no way to a collector beside the gateway.
    if given?["proxy"] != nil || !made.isOnLoopback {
      made.proxy = proxies.complete(read?.proxy, given?["proxy"], &credentials)
    }
    if let reader = given?["credential"] {
      made.credential = credentials.name(reader)
      if let place = made.clearPlace { credentials.warn(reader, of: place) }
    }
    if let reader = given?["headers"], let place = made.clearPlace { credentials.warn(reader, of: place) }
    var keys = read?.keys ?? []
    if root["trace"]?.child("sample") != nil { keys.insert("trace.sample") }
    let place = given?.reader ?? root.reader
    let key = given == nil ? "telemetry" : nil
    for note in environment.problems(of: made.settings, beside: keys) {
      place.report("the variable \(note)", key: key)
    }
    for note in environment.warnings(of: made.settings, beside: keys) { place.warn("the variable \(note)") }
    if let given, !made.settings.hasEndpoint, !made.settings.isDisabled, given.reader.findings.problems.isEmpty {
      given.reader.warn("exports nothing without an endpoint")
    }
    telemetry = made.settings.isOn ? made : nil
  }

  /// The traces of the gateway: with an exporter they are on, unless the file says otherwise.
  func trace(_ read: TraceSettings?, _ given: ConfigurationGiven) -> TraceSettings? {
    let exports = telemetry?.settings.url(of: .traces) != nil
    guard var trace = read ?? (exports && !given.has("trace") ? TraceSettings() : nil) else { return nil }
    let reader = given["trace"]
    if reader?.child("begin") == nil { trace.begins = exports }
    if reader?.child("sample") == nil, exports, let sampler = telemetry?.settings.sampler {
      trace.sampler = sampler
    } else {
      trace.sampler = TraceSampler(share: trace.sample)
    }
    if trace.keepsFailures, !exports {
      reader?.child("keepFailures")?.warn("does nothing without telemetry, which exports the spans")
    }
    return trace
  }
}

extension GatewayTelemetry {
  private var urls: [URL] {
    TelemetrySignal.allCases.compactMap { settings.url(of: $0).flatMap { URL(string: $0) } }
  }

  /// Whether all messages stay on this machine.
  fileprivate var isOnLoopback: Bool { urls.allSatisfy { CanonicalHost($0.host ?? "").isLoopback } }

  /// The host to which messages go in clear text over a network; nil if there is none.
  fileprivate var clearPlace: String? {
    urls.first { $0.scheme?.lowercased() == "http" && !CanonicalHost($0.host ?? "").isLoopback }?.host
  }
}
