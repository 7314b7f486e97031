import Foundation
import Testing
import Weir
import WeirExporter
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// The section `telemetry`, the variables beside it, and what both say of traces.
@Suite struct TelemetryConfigurationTests {
  private static let collector = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"]

  private func read(
    _ text: String, _ variables: [String: String] = [:]
  ) throws(ConfigurationError) -> Configuration {
    try Configuration(
      parsing: Array((text + "routes: [{name: a, respond: {status: 200}}]\n").utf8), file: "f",
      telemetry: TelemetryEnvironment(variables))
  }

  private func said(_ text: String, _ variables: [String: String] = [:]) -> [String] {
    do {
      return try read(text, variables).warnings.map { $0.description(file: "f") }
    } catch {
      return error.problems.map { $0.description(file: "f") }
    }
  }

  @Test func everyKeyIsRead() throws {
    let directory = try TemporaryDirectory()
    let key = try directory.file("key", "s3cret\n")
    let telemetry = try #require(
      try read(
        """
        telemetry:
          endpoint: http://127.0.0.1:4318/otlp
          headers: {api-key: {file: \(key)}, tenant: shop}
          protocol: http/json
          compression: gzip
          timeout: 3s
          serviceName: edge
          resource: {team: a}
          traces: {queue: 100, batch: 10, delay: 1s, timeout: 20s}
          metrics: {endpoint: "http://127.0.0.1:9090/api/v1/otlp/v1/metrics", interval: 15s, timeout: 5s}

        """
      ).telemetry)
    var settings = TelemetrySettings()
    var endpoint = OTLPEndpoint("http://127.0.0.1:4318/otlp")
    endpoint.headers = ["api-key": Secret(try SecretFile(key)), "tenant": "shop"]
    (endpoint.encoding, endpoint.compression, endpoint.timeout) = (.json, .gzip, 3)
    (settings.traces.endpoint, settings.metrics.endpoint) = (endpoint, endpoint)
    (settings.traces.interval, settings.traces.timeout) = (1, 20)
    (settings.metrics.interval, settings.metrics.timeout) = (15, 5)
    settings.metrics.ownURL = "http://127.0.0.1:9090/api/v1/otlp/v1/metrics"
    (settings.queue, settings.batch) = (100, 10)
    (settings.serviceName, settings.resource) = ("edge", ["team": "a"])
    #expect(telemetry.settings == settings)
    #expect(telemetry.settings.url(of: .traces) == "http://127.0.0.1:4318/otlp/v1/traces")
    #expect(telemetry.proxy == .off && telemetry.credential == nil)
    #expect(!"\(telemetry)".contains("s3cret"))
  }

  @Test func keysComeBeforeVariables() throws {
    let variables = Self.collector.merging([
      "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/t", "OTEL_EXPORTER_OTLP_TIMEOUT": "500",
      "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_BSP_MAX_QUEUE_SIZE": "7", "OTEL_SERVICE_NAME": "v",
      "OTEL_METRICS_EXPORTER": "none",
    ]) { first, _ in first }
    #expect(said("", variables).count == 1)
    let telemetry = try #require(
      try read(
        "telemetry: {endpoint: 'http://127.0.0.1:2', protocol: http/protobuf, serviceName: f, metrics: {}}\n", variables
      ).telemetry)
    #expect(telemetry.settings.url(of: .traces) == "http://127.0.0.1:2/v1/traces")
    #expect(telemetry.settings.url(of: .metrics) == "http://127.0.0.1:2/v1/metrics")
    #expect(telemetry.settings.serviceName == "f" && telemetry.settings.queue == 7)
    #expect(telemetry.settings.traces.endpoint.timeout == 0.5)
  }

  @Test func offIsOff() throws {
    #expect(try read("").telemetry == nil)
    #expect(try read("", Self.collector).telemetry?.settings.isOn == true)
    #expect(try read("telemetry: off\n", Self.collector).telemetry == nil)
    #expect(try read("telemetry: {traces: off, metrics: off}\n", Self.collector).telemetry == nil)
    let disabled = Self.collector.merging(["OTEL_SDK_DISABLED": "true"]) { first, _ in first }
    #expect(try read("telemetry: {endpoint: 'http://127.0.0.1:1'}\n", disabled).telemetry == nil)
    #expect(said("telemetry: {}\n") == ["f:1:12: telemetry: exports nothing without an endpoint"])
  }

  @Test func tracesAreOnWithAnExporter() throws {
    let exported = TraceSettings(begins: true, sample: 0.01, sampler: TraceSampler(share: 0.01))
    #expect(try read("", Self.collector).trace == exported)
    #expect(try read("trace: off\n", Self.collector).trace == nil)
    #expect(try read("telemetry: {traces: off}\n", Self.collector).trace == nil)
    #expect(try read("trace: {begin: false}\n", Self.collector).trace?.begins == false)
    #expect(try read("trace: {}\n").trace?.begins == false)
    let all = Self.collector.merging(["OTEL_TRACES_SAMPLER": "always_on"]) { first, _ in first }
    #expect(try read("", all).trace?.sampler == TraceSampler(share: 1, followsParent: false))
    // A key comes before the variable.
    #expect(try read("trace: {sample: 0.5}\n", all).trace?.sampler == TraceSampler(share: 0.5))
    #expect(
      said("trace: {keepFailures: true}\n")
        == ["f:1:23: trace.keepFailures: does nothing without telemetry, which exports the spans"])
  }

  @Test func whatItNamesIsUsed() throws {
    let text = """
      credentials: [{name: one, bearer: t}, {name: two, basic: {user: a, password: b}}]
      proxy: {url: "http://127.0.0.1:3128", credential: two}
      telemetry: {endpoint: "https://collector.example", credential: one}

      """
    let telemetry = try #require(try read(text).telemetry)
    #expect(telemetry.credential == "one" && telemetry.proxy.credential == "two")
    #expect(said(text).isEmpty)
    let near = text.replacing("https://collector.example", with: "http://[::1]:4318")
    #expect(try read(near).telemetry?.proxy == .off)
    #expect(
      said(text.replacing("https://c", with: "http://c"))
        == [
          "f:3:63: telemetry.credential: is sent to \"collector.example\" in clear text; use https, or a loopback address or Unix socket"
        ])
  }

  @Test(arguments: [
    ("telemetry: on\n", "f:1:12: telemetry: expected a mapping (key: value) or off"),
    ("telemetry: {protocol: grpc}\n", "f:1:23: telemetry.protocol: weir does not speak grpc; write http/protobuf"),
    (
      "telemetry: {endpoint: 'c:4317'}\n",
      "f:1:23: telemetry.endpoint: must be a URL that begins with http:// or https://"
    ),
    ("telemetry: {endpoint: 'http://u:s3cret@c'}\n", "f:1:23: telemetry.endpoint: must have no user name or password"),
    ("telemetry: {headers: {Content-Type: s3cret}}\n", "f:1:37: telemetry.headers.Content-Type: weir writes"),
    ("telemetry: {sample: 1}\n", "f:1:13: telemetry.sample: unknown key; it belongs into trace"),
    ("telemetry: {traces: {queue: 5, batch: 6}}\n", "f:1:39: telemetry.traces.batch: must be at most queue"),
    ("telemetry: {credential: x}\n", "f:1:25: telemetry.credential: no credential is named \"x\""),
  ]) func problemsSayWhatToChange(text: String, problem: String) {
    #expect(said(text).first?.hasPrefix(problem) == true, "\(said(text))")
    #expect(!said(text).contains { $0.contains("s3cret") })
  }

  @Test func problemsOfVariablesNameThem() {
    let variables = Self.collector.merging(["OTEL_PROPAGATORS": "b3", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon"]) {
      first, _ in first
    }
    #expect(said("", variables).first?.contains("the variable OTEL_PROPAGATORS must have tracecontext") == true)
    #expect(
      said("", Self.collector.merging(["OTEL_EXPORTER_OTLP_TIMEOUT": "soon"]) { first, _ in first }).first?
        .contains("the variable OTEL_EXPORTER_OTLP_TIMEOUT must be a time in milliseconds") == true)
    #expect(
      said(
        "telemetry: {timeout: 1s}\n",
        Self.collector.merging(["OTEL_EXPORTER_OTLP_TIMEOUT": "soon"]) { first, _ in first }
      ).isEmpty)
  }
}
