import Weir
import WeirExporter
import WeirHTTP
import WeirTransport

// The section `telemetry`. No problem repeats a header or a URL, as a secret may be in its place.

/// The value of `telemetry` as it was read: keys in place of variables, and those in place of defaults.
struct ReadTelemetry {
  var settings = TelemetrySettings()
  var proxy = ProxySettings.off
  /// The mapping; nil for `off`, or if there is none.
  var given: ConfigurationGiven?

  static let form = ConfigurationForm<ReadTelemetry>(.either([mapping.shape, .off])) { reader in
    var read = ReadTelemetry()
    if reader.isOff { return read }
    guard let entries = reader.mappingEntries(orOff: "write { endpoint: http://collector.example:4318 }") else {
      return nil
    }
    read.settings = reader.findings.telemetry.settings
    read.given = mapping.read(reader, entries, into: &read)
    return read
  }

  /// The keys of the file, as the notes on variables name them: `protocol`, `traces.queue`.
  var keys: Set<String> {
    guard case .mapping(let entries)? = given?.reader.node.content else { return [] }
    return entries.reduce(into: []) { keys, entry in
      keys.insert(entry.key)
      guard case .mapping(let inner) = entry.value.content else { return }
      keys.formUnion(inner.map { "\(entry.key).\($0.key)" })
    }
  }

  static let mapping = ConfigurationMapping(
    ReadTelemetry(),
    misplaced: [
      "sample": "it belongs into trace", "interval": "it belongs into metrics", "queue": "it belongs into traces",
    ]
  ) {
    way
    Key(
      "serviceName", .text { $0.isEmpty ? "is empty; give the name, such as weir" : nil }, \.settings.serviceName,
      "`service.name` of the resource (`OTEL_SERVICE_NAME`)", missing: .words("`weir`"))
    Key(
      "resource", resource, \.settings.resource,
      """
      further attributes of the resource (`OTEL_RESOURCE_ATTRIBUTES`): `resource: { deployment.environment.name: prod }`. \
      Host, process and instance are there in any case
      """, isDetailed: false)
    signal("traces", traces, \.settings.traces.isOn, "`off` exports no spans (`OTEL_TRACES_EXPORTER`)")
    signal("metrics", metrics, \.settings.metrics.isOn, "`off` exports no metrics (`OTEL_METRICS_EXPORTER`)")
  }

  // MARK: The way

  @KeyList<ReadTelemetry> private static var way: [Key<ReadTelemetry>] {
    Key(
      "endpoint", url,
      """
      the collector's URL, such as `http://localhost:4318`; `/v1/traces` and `/v1/metrics` are added to it \
      (`OTEL_EXPORTER_OTLP_ENDPOINT`)
      """, missing: .words("none: nothing is exported")
    ) { read, url in
      read.change { ($0.endpoint.url, $0.ownURL) = (url, nil) }
    }
    Key(
      "headers", headers,
      """
      fields of each request, whose values are texts or `{ file, prefix, suffix }` as in `headers.set`: `headers: { api-key: \
      { file: /run/secrets/key } }` (`OTEL_EXPORTER_OTLP_HEADERS`)
      """, isDetailed: false
    ) { read, headers in
      read.change { $0.endpoint.headers = headers }
    }
    Key(
      late: "credential", .named("name", .text(nil)),
      "the entry of `credentials` with which messages go to the collector ([credentials.md](credentials.md))")
    Key(
      "proxy", ProxySettings.form, \.proxy, "the proxy on the way to the collector ([proxies.md](proxies.md))",
      missing: .words("\(ProxySettings.missing); none on the way to a loopback address"), isDetailed: false)
    Key(
      "protocol",
      ConfigurationForm<OTLPEndpoint.Encoding>.word.refusing {
        $0 == .string("grpc") ? "weir does not speak grpc; write http/protobuf, and the port for that, often 4318" : nil
      }, "the form of messages (`OTEL_EXPORTER_OTLP_PROTOCOL`)", own: { $0.settings.traces.endpoint.encoding }
    ) { read, encoding in
      read.change { $0.endpoint.encoding = encoding }
    }
    Key(
      "compression", ConfigurationForm<OTLPEndpoint.Compression>.word,
      "the coding of messages (`OTEL_EXPORTER_OTLP_COMPRESSION`)", own: { $0.settings.traces.endpoint.compression }
    ) { read, compression in
      read.change { $0.endpoint.compression = compression }
    }
    Key(
      "timeout", .seconds(TelemetryEnvironment.times), "of one attempt (`OTEL_EXPORTER_OTLP_TIMEOUT`)",
      own: { $0.settings.traces.endpoint.timeout }
    ) { read, timeout in
      read.change { $0.endpoint.timeout = timeout }
    }
    Key(
      "tls", UpstreamTLS.form,
      """
      for an `https` collector; with the keys of a route's `upstream.tls` (`OTEL_EXPORTER_OTLP_CERTIFICATE`, \
      `_CLIENT_CERTIFICATE`, `_CLIENT_KEY`)
      """, missing: .words("the system's roots"), isDetailed: false
    ) { read, tls in
      read.change { $0.endpoint.tls = tls.configuration }
    }
  }

  private mutating func change(_ change: (inout TelemetrySettings.Signal) -> Void) {
    for signal in TelemetrySignal.allCases { change(&settings[signal]) }
  }

  // MARK: Signals

  private static let traces = ConfigurationMapping(TelemetrySettings()) {
    endpoint(of: \.traces, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    Key(
      "queue", .integer(TelemetryEnvironment.counts), \.queue,
      "the most spans that wait for an export or are under way; more are dropped (`OTEL_BSP_MAX_QUEUE_SIZE`)")
    Key(
      "batch", .integer(TelemetryEnvironment.counts), \.batch,
      "the most spans of one message, at most `queue` (`OTEL_BSP_MAX_EXPORT_BATCH_SIZE`)")
    Key(
      "delay", .seconds(TelemetryEnvironment.times), \.traces.interval,
      "the longest time for which a span waits for a batch to be full (`OTEL_BSP_SCHEDULE_DELAY`)")
    timeout(of: \.traces, "OTEL_BSP_EXPORT_TIMEOUT")
  }

  private static let metrics = ConfigurationMapping(TelemetrySettings()) {
    endpoint(of: \.metrics, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
    Key(
      "interval", .seconds(TelemetryEnvironment.times), \.metrics.interval,
      "the time between two exports (`OTEL_METRIC_EXPORT_INTERVAL`)")
    timeout(of: \.metrics, "OTEL_METRIC_EXPORT_TIMEOUT")
  }

  /// A mapping whose keys change the settings, or `off`.
  private static func signal(
    _ name: String, _ mapping: ConfigurationMapping<TelemetrySettings>,
    _ isOn: any WritableKeyPath<ReadTelemetry, Bool> & Sendable, _ text: String
  ) -> Key<ReadTelemetry> {
    Key(name, .either([mapping.shape, .off]), text, missing: .words("`{}`")) { reader, read in
      if reader.isOff {
        read[keyPath: isOn] = false
        return true
      }
      guard let entries = reader.mappingEntries(orOff: "write {} for the defaults") else { return false }
      read[keyPath: isOn] = true
      let given = mapping.read(reader, entries, into: &read.settings)
      given.require("batch", &read.settings.batch, atMost: read.settings.queue, "queue")
      return true
    }
  }

  private static func endpoint(
    of signal: any WritableKeyPath<TelemetrySettings, TelemetrySettings.Signal> & Sendable, _ variable: String
  ) -> Key<TelemetrySettings> {
    Key(
      "endpoint", url, "the whole URL for this signal, to which nothing is added (`\(variable)`)",
      missing: .words("that of `endpoint` above")
    ) { $0[keyPath: signal].ownURL = $1 }
  }

  private static func timeout(
    of signal: any WritableKeyPath<TelemetrySettings, TelemetrySettings.Signal> & Sendable, _ variable: String
  ) -> Key<TelemetrySettings> {
    Key(
      "timeout", .seconds(TelemetryEnvironment.times), "of one export with its repeats (`\(variable)`)",
      own: { $0[keyPath: signal].timeout }
    ) { $0[keyPath: signal].timeout = $1 }
  }

  // MARK: Values

  private static let url = ConfigurationForm<String>(.named("URL", .text("^[Hh][Tt][Tt][Pp][Ss]?://"))) {
    $0.read(as: .string, unless: OTLPEndpoint.problem(url:))
  }

  private static let headers = ConfigurationForm<[String: Secret]>(
    .entries(of: ConfigurationForm<Secret>.secret.shape, 0...16)
  ) { reader in
    guard let entries = reader.entries(0...16, "headers") else { return nil }
    var found: [String: Secret] = [:]
    for (name, value) in entries {
      if let problem = OTLPEndpoint.problem(header: name) { value.report(problem) }
      found[name] = ConfigurationForm<Secret>.secret.read(value)
    }
    return found
  }.hidden

  private static let resource = ConfigurationForm<[String: String]>(.entries(of: .text(nil), 0...64)) { reader in
    guard let entries = reader.entries(0...64, "attributes") else { return nil }
    var found: [String: String] = [:]
    for (name, value) in entries {
      if name.isEmpty { value.report("must have a name, such as deployment.environment.name") }
      found[name] = value.read(as: .string)
    }
    return found
  }
}
