import Foundation
import Weir
import WeirTransport

/// The settings that OpenTelemetry's environment variables hold. A value.
///
/// A variable of one signal comes before the general one. An empty variable counts as missing. As OpenTelemetry asks, a
/// number or word that can't be read is a warning, and the default holds.
package struct TelemetryEnvironment: Sendable {
  /// A remark on a variable.
  package struct Note: Sendable, Hashable, CustomStringConvertible {
    package let variable: String
    /// The change to make, in words that follow the variable's name. No secret is in it.
    package let text: String
    /// The signal to which alone it belongs; nil for both.
    let signal: TelemetrySignal?
    /// The keys of the configuration that come before the variable.
    let keys: Set<String>

    package var description: String { "\(variable) \(text)" }
  }

  /// The environment of this process, read once.
  package static let process = TelemetryEnvironment(ProcessInfo.processInfo.environment)

  package private(set) var settings = TelemetrySettings()
  private var problems: [Note] = []
  private var warnings: [Note] = []
  private let variables: [String: String]

  /// Reads the variables.
  package init(_ variables: [String: String]) {
    self.variables = variables.filter { !$0.value.isEmpty }
    read("OTEL_SDK_DISABLED") { settings, text throws(Refusal) in
      settings.isDisabled = try Self.boolean(text)
    }
    for signal in TelemetrySignal.allCases { readExporter(of: signal) }
    readResource()
    readSampler()
    readTimes()
    read("OTEL_PROPAGATORS") { _, text throws(Refusal) in
      try Self.checkPropagators(text)
    }
  }

  /// The facts that make these settings unfit for use.
  ///
  /// - Parameters:
  ///   - settings: Those that are in force, which are these or ones with keys of a file.
  ///   - keys: The keys of the file, which come before variables.
  package func problems(of settings: TelemetrySettings, beside keys: Set<String> = []) -> [Note] {
    Self.relevant(problems, settings, keys)
  }

  /// Possible mistakes, and values that were not understood. Parameters as for ``problems(of:beside:)``.
  package func warnings(of settings: TelemetrySettings, beside keys: Set<String> = []) -> [Note] {
    Self.relevant(warnings, settings, keys)
  }

  private static func relevant(_ notes: [Note], _ settings: TelemetrySettings, _ keys: Set<String>) -> [Note] {
    // A general variable is read for each signal.
    var seen: Set<[String]> = []
    return notes.filter { note in
      let isUsed = note.signal.map { settings.url(of: $0) != nil } ?? settings.hasEndpoint
      return isUsed && keys.isDisjoint(with: note.keys) && seen.insert([note.variable, note.text]).inserted
    }
  }

  // MARK: Variables

  /// Why a value is not taken.
  struct Refusal: Error {
    let text: String
    var isProblem = false

    static func problem(_ text: String) -> Self { Self(text: text, isProblem: true) }
    static func warning(_ text: String) -> Self { Self(text: text) }
  }

  /// Reads one variable, if it is there. A warning of `take` leaves the settings as `take` has left them.
  private mutating func read(
    _ variable: String, of signal: TelemetrySignal? = nil, keys: Set<String> = [],
    _ take: (inout TelemetrySettings, String) throws(Refusal) -> Void
  ) {
    guard let text = variables[variable] else { return }
    do throws(Refusal) {
      try take(&settings, text.trimmingCharacters(in: .whitespaces))
    } catch {
      let note = Note(variable: variable, text: error.text, signal: signal, keys: keys)
      if error.isProblem { problems.append(note) } else { warnings.append(note) }
    }
  }

  /// Reads a variable of the exporter: that of the signal, or else the general one.
  private mutating func readExporter(
    _ name: String, of signal: TelemetrySignal, key: String,
    _ take: (inout OTLPEndpoint, String) throws(Refusal) -> Void
  ) {
    let own = "OTEL_EXPORTER_OTLP_\(signal.rawValue.uppercased())_\(name)"
    let variable = variables[own] == nil ? "OTEL_EXPORTER_OTLP_\(name)" : own
    read(variable, of: signal, keys: [key]) { settings, text throws(Refusal) in
      try take(&settings[signal].endpoint, text)
    }
  }

  private mutating func readExporter(of signal: TelemetrySignal) {
    let name = signal.rawValue.uppercased()
    let keys: Set = ["endpoint", "\(signal.rawValue).endpoint"]
    // A signal that this turns off has a remark all the same.
    read("OTEL_\(name)_EXPORTER", keys: [signal.rawValue]) { settings, text throws(Refusal) in
      let words = Self.list(text)
      settings[signal].isOn = words.contains("otlp")
      let others = words.filter { !["otlp", "none", "prometheus"].contains($0) }
      if let other = others.first {
        throw .warning("has the exporter \(Self.quoted(other)), which weir has not; it has otlp, and none")
      }
    }
    read("OTEL_EXPORTER_OTLP_ENDPOINT", of: signal, keys: keys) { settings, text throws(Refusal) in
      // It is taken in any case, so that the problem tells of a signal that would be on.
      settings[signal].endpoint.url = text
      try Self.check(url: text)
      if text.contains("?") { throw .problem("must have no query, as /v1/traces and /v1/metrics are added to it") }
    }
    read("OTEL_EXPORTER_OTLP_\(name)_ENDPOINT", of: signal, keys: keys) { settings, text throws(Refusal) in
      settings[signal].ownURL = text
      try Self.check(url: text)
    }
    readExporter("HEADERS", of: signal, key: "headers") { endpoint, text throws(Refusal) in
      endpoint.headers = try Self.headers(text)
    }
    readExporter("TIMEOUT", of: signal, key: "timeout") { endpoint, text throws(Refusal) in
      endpoint.timeout = try Self.seconds(text)
    }
    readExporter("COMPRESSION", of: signal, key: "compression") { endpoint, text throws(Refusal) in
      endpoint.compression = try Self.word(text)
    }
    readExporter("PROTOCOL", of: signal, key: "protocol") { endpoint, text throws(Refusal) in
      if text == "grpc" {
        throw .problem("is grpc, which weir does not speak; write http/protobuf, and the port for that, often 4318")
      }
      endpoint.encoding = try Self.word(text)
    }
    readCertificates(of: signal)
  }

  private mutating func readCertificates(of signal: TelemetrySignal) {
    readExporter("CERTIFICATE", of: signal, key: "tls") { endpoint, text throws(Refusal) in
      endpoint.tls.trustRoots = .file(try Self.file(text))
    }
    readExporter("CLIENT_CERTIFICATE", of: signal, key: "tls") { endpoint, text throws(Refusal) in
      endpoint.tls.clientCertificate = .init(certificate: .file(try Self.file(text)))
    }
    readExporter("CLIENT_KEY", of: signal, key: "tls") { endpoint, text throws(Refusal) in
      guard endpoint.tls.clientCertificate != nil else {
        throw .warning("is of no use without OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE")
      }
      endpoint.tls.clientCertificate?.privateKey = .file(try Self.file(text))
    }
  }

  private mutating func readResource() {
    read("OTEL_RESOURCE_ATTRIBUTES", keys: ["resource"]) { settings, text throws(Refusal) in
      guard let pairs = Self.pairs(text) else {
        throw .warning("must be a list such as deployment.environment.name=prod,team=shop; it is left out")
      }
      settings.resource = Dictionary(pairs) { _, last in last }
    }
    read("OTEL_SERVICE_NAME", keys: ["serviceName"]) { settings, text in settings.serviceName = text }
  }

  private mutating func readSampler() {
    var share = 1.0
    let hasSampler = variables["OTEL_TRACES_SAMPLER"] != nil
    read("OTEL_TRACES_SAMPLER_ARG", of: .traces, keys: ["trace.sample"]) { _, text throws(Refusal) in
      guard hasSampler else { throw .warning("is of no use without OTEL_TRACES_SAMPLER") }
      guard let number = Double(text), (0...1).contains(number) else {
        throw .warning("must be 0 to 1; 1 is taken")
      }
      share = number
    }
    read("OTEL_TRACES_SAMPLER", of: .traces, keys: ["trace.sample"]) { settings, text throws(Refusal) in
      let prefix = "parentbased_"
      let shares = ["always_on": 1, "always_off": 0, "traceidratio": share]
      let followsParent = text.hasPrefix(prefix)
      guard let share = shares[followsParent ? String(text.dropFirst(prefix.count)) : text] else {
        let names = shares.keys.sorted().joined(separator: ", ")
        throw .warning("must be one of \(names), each also behind parentbased_; the default is taken")
      }
      settings.sampler = TraceSampler(share: share, followsParent: followsParent)
    }
  }

  private mutating func readTimes() {
    read("OTEL_BSP_SCHEDULE_DELAY", of: .traces, keys: ["traces.delay"]) { settings, text throws(Refusal) in
      settings.traces.interval = try Self.seconds(text)
    }
    read("OTEL_BSP_EXPORT_TIMEOUT", of: .traces, keys: ["traces.timeout"]) { settings, text throws(Refusal) in
      settings.traces.timeout = try Self.seconds(text)
    }
    read("OTEL_BSP_MAX_QUEUE_SIZE", of: .traces, keys: ["traces.queue"]) { settings, text throws(Refusal) in
      settings.queue = try Self.count(text)
    }
    read("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", of: .traces, keys: ["traces.batch"]) { settings, text throws(Refusal) in
      settings.batch = try Self.count(text)
    }
    if settings.batch > settings.queue {
      settings.batch = settings.queue
      warnings.append(
        Note(
          variable: "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", text: "must be at most the queue's size, which is taken",
          signal: .traces, keys: ["traces.batch", "traces.queue"]))
    }
    read("OTEL_METRIC_EXPORT_INTERVAL", of: .metrics, keys: ["metrics.interval"]) { settings, text throws(Refusal) in
      settings.metrics.interval = try Self.seconds(text)
    }
    read("OTEL_METRIC_EXPORT_TIMEOUT", of: .metrics, keys: ["metrics.timeout"]) { settings, text throws(Refusal) in
      settings.metrics.timeout = try Self.seconds(text)
    }
    let metrics = "OTEL_EXPORTER_OTLP_METRICS_"
    read("\(metrics)TEMPORALITY_PREFERENCE", of: .metrics) { _, text throws(Refusal) in
      if text.lowercased() != "cumulative" { throw .warning("must be cumulative; weir sends no other totals") }
    }
    read("\(metrics)DEFAULT_HISTOGRAM_AGGREGATION", of: .metrics) { settings, text throws(Refusal) in
      switch text.lowercased() {
      case "explicit_bucket_histogram": break
      case "base2_exponential_bucket_histogram": settings.hasExponentialHistograms = true
      default:
        throw .warning("must be explicit_bucket_histogram or base2_exponential_bucket_histogram; the first is taken")
      }
    }
  }
}
