import Testing
import Weir
import WeirTestSupport
import WeirTransport

@testable import WeirExporter

@Suite struct TelemetryEnvironmentTests {
  private static let endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
  private static let collector = [endpoint: "http://collector:4318"]

  private func read(_ more: [String: String]) -> TelemetryEnvironment {
    TelemetryEnvironment(Self.collector.merging(more) { _, new in new })
  }

  private func settings(_ more: [String: String]) -> TelemetrySettings { read(more).settings }

  @Test func nothingIsOnWithoutAnEndpoint() {
    let environment = TelemetryEnvironment(["OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_PROPAGATORS": "b3"])
    #expect(!environment.settings.isOn)
    #expect(environment.problems(of: environment.settings).isEmpty)
    // A key of a file may turn it on.
    var other = environment.settings
    other.traces.endpoint.url = "http://h"
    #expect(environment.problems(of: other).map(\.variable) == ["OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_PROPAGATORS"])
    #expect(environment.problems(of: other, beside: ["protocol"]).map(\.variable) == ["OTEL_PROPAGATORS"])
    #expect(TelemetryEnvironment([:]).settings == TelemetrySettings())
    #expect(TelemetryEnvironment([Self.endpoint: ""]).settings == TelemetrySettings())
  }

  @Test(
    arguments: [
      (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"], "http://c:4318/v1/traces", "http://c:4318/v1/metrics"),
      (["OTEL_EXPORTER_OTLP_ENDPOINT": "https://c/otlp/"], "https://c/otlp/v1/traces", "https://c/otlp/v1/metrics"),
      (["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t/x?a=b"], "http://t/x?a=b", nil),
      (
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m/"],
        "http://c/v1/traces", "http://m/"
      ),
      (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"], nil, "http://c/v1/metrics"),
      (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_METRICS_EXPORTER": "prometheus"], "http://c/v1/traces", nil),
      (
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "otlp, console"], "http://c/v1/traces",
        "http://c/v1/metrics"
      ),
      (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "TRUE"], nil, nil),
    ] as [([String: String], String?, String?)])
  func places(variables: [String: String], traces: String?, metrics: String?) {
    let settings = TelemetryEnvironment(variables).settings
    #expect(settings.url(of: .traces) == traces)
    #expect(settings.url(of: .metrics) == metrics)
  }

  @Test func variablesOfASignalComeFirst() throws {
    let directory = try TemporaryDirectory()
    let (ca, cert, key) = (
      try directory.file("ca", ""), try directory.file("cert", ""), try directory.file("key", "")
    )
    let settings = settings([
      "OTEL_EXPORTER_OTLP_TIMEOUT": "2500", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "500",
      "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "none",
      "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf",
      "OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "b=2",
      "OTEL_EXPORTER_OTLP_CERTIFICATE": ca, "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE": cert,
      "OTEL_EXPORTER_OTLP_CLIENT_KEY": key,
    ])
    var traces = OTLPEndpoint("http://collector:4318", headers: ["a": "1"])
    (traces.timeout, traces.compression, traces.encoding) = (0.5, .gzip, .json)
    traces.tls.trustRoots = .file(ca)
    traces.tls.clientCertificate = .init(certificate: .file(cert), privateKey: .file(key))
    var metrics = OTLPEndpoint("http://collector:4318", headers: ["b": "2"])
    metrics.timeout = 2.5
    metrics.tls.trustRoots = .file(ca)
    #expect(settings.traces.endpoint == traces)
    #expect(settings.metrics.endpoint == metrics)
  }

  @Test(
    arguments: [
      ("a=1", ["a": "1"]), (" a = 1 ,, b=2,", ["a": "1", "b": "2"]), ("a=b=c", ["a": "b=c"]), ("a=%20x%2C", nil),
      ("Authorization=Basic%20dTpw", ["Authorization": "Basic dTpw"]), ("a=", ["a": ""]), ("a", nil), ("=1", nil),
      ("a=%zz", nil), ("a b=1", nil), ("Content-Type=text/plain", nil), ("a=1%0A2", nil),
    ] as [(String, [String: Secret]?)])
  func headers(text: String, headers: [String: Secret]?) {
    let environment = read(["OTEL_EXPORTER_OTLP_HEADERS": text])
    let problems = environment.problems(of: environment.settings)
    #expect(problems.count == (headers == nil ? 1 : 0))
    if let headers { #expect(environment.settings.traces.endpoint.headers == headers) }
    #expect(!"\(problems)\(environment.settings)".contains("dTpw"))
  }

  @Test func theRestIsRead() {
    let settings = settings([
      "OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_BSP_EXPORT_TIMEOUT": "1000", "OTEL_BSP_MAX_QUEUE_SIZE": "10",
      "OTEL_METRIC_EXPORT_INTERVAL": "15000", "OTEL_METRIC_EXPORT_TIMEOUT": "3000", "OTEL_SERVICE_NAME": "shop",
      "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,team=a%20b",
    ])
    #expect(settings.traces.interval == 0.1 && settings.traces.timeout == 1)
    // A batch is no longer than the queue.
    #expect(settings.queue == 10 && settings.batch == 10)
    #expect(settings.metrics.interval == 15 && settings.metrics.timeout == 3)
    #expect(settings.serviceName == "shop" && settings.resource == ["service.name": "other", "team": "a b"])
  }

  @Test(arguments: [
    ("base2_exponential_bucket_histogram", true), ("BASE2_EXPONENTIAL_BUCKET_HISTOGRAM", true),
    ("explicit_bucket_histogram", false), ("other", false),
  ])
  func formsOfHistograms(text: String, isExponential: Bool) {
    let environment = read(["OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": text])
    #expect(environment.settings.hasExponentialHistograms == isExponential)
    #expect(environment.warnings(of: environment.settings).isEmpty == (text != "other"))
  }

  @Test(
    arguments: [
      ("always_on", nil, TraceSampler(share: 1, followsParent: false)),
      ("always_off", "0.5", TraceSampler(share: 0, followsParent: false)),
      ("traceidratio", "0.25", TraceSampler(share: 0.25, followsParent: false)),
      ("traceidratio", nil, TraceSampler(share: 1, followsParent: false)),
      ("parentbased_always_on", nil, TraceSampler(share: 1)),
      ("parentbased_always_off", nil, TraceSampler(share: 0)),
      ("parentbased_traceidratio", "0.1", TraceSampler(share: 0.1)),
      ("parentbased_traceidratio", "2", TraceSampler(share: 1)), ("jaeger_remote", nil, nil), (nil, "0.1", nil),
    ] as [(String?, String?, TraceSampler?)])
  func samplers(name: String?, argument: String?, sampler: TraceSampler?) {
    var variables: [String: String] = [:]
    variables["OTEL_TRACES_SAMPLER"] = name
    variables["OTEL_TRACES_SAMPLER_ARG"] = argument
    #expect(settings(variables).sampler == sampler)
  }

  @Test(arguments: [
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317", "must be a URL that begins with http:// or https://"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://u:p@c", "must have no user name or password"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c?key=secret", "must have no query"),
    ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/#a", "must have no fragment"),
    ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc", "is grpc, which weir does not speak"),
    ("OTEL_PROPAGATORS", "b3,baggage", "must have tracecontext"),
    ("OTEL_PROPAGATORS", "none", "must have tracecontext"),
    ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/does/not/exist", "must name a file that can be read"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:0", "must have a port of 1 to 65535"),
  ]) func problems(variable: String, value: String, text: String) {
    let environment = read([variable: value])
    let problems = environment.problems(of: environment.settings)
    #expect(problems.map(\.variable) == [variable])
    #expect(problems.first?.text.hasPrefix(text) == true, "\(problems)")
    #expect(!"\(problems)".contains("secret") && !"\(problems)".contains("u:p"))
  }

  @Test(arguments: [
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317", "has the port of gRPC"),
    ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "must be a time in milliseconds"),
    ("OTEL_EXPORTER_OTLP_TIMEOUT", "0", "must be a time in milliseconds"),
    ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "must be none or gzip"),
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/xml", "must be http/protobuf or http/json"),
    ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/k", "is of no use without"),
    ("OTEL_BSP_MAX_QUEUE_SIZE", "-1", "must be 1 to 1000000"),
    ("OTEL_TRACES_SAMPLER", "xray", "must be one of always_off, always_on, traceidratio"),
    ("OTEL_TRACES_SAMPLER_ARG", "0.5", "is of no use without"),
    ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5000", "must be at most the queue's size"),
    ("OTEL_PROPAGATORS", "tracecontext,b3", "has \"b3\""),
    ("OTEL_TRACES_EXPORTER", "zipkin", "has the exporter \"zipkin\""),
    ("OTEL_RESOURCE_ATTRIBUTES", "a", "must be a list"),
    ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta", "must be cumulative"),
    ("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "none", "must be explicit_bucket_histogram"),
    ("OTEL_SDK_DISABLED", "yes", "must be true or false"),
  ]) func warnings(variable: String, value: String, text: String) {
    let environment = read([variable: value])
    let warnings = environment.warnings(of: environment.settings)
    #expect(environment.problems(of: environment.settings).isEmpty)
    #expect(warnings.map(\.variable) == [variable])
    #expect(warnings.first?.text.hasPrefix(text) == true, "\(warnings)")
  }

  /// Of two signals that are turned off by a word each, both words are told of.
  @Test func anExporterThatWeirHasNotIsToldOfWhenNothingIsOn() {
    let environment = read(["OTEL_TRACES_EXPORTER": "zipkin", "OTEL_METRICS_EXPORTER": "bogus"])
    #expect(!environment.settings.isOn)
    #expect(
      environment.warnings(of: environment.settings).map(\.variable) == [
        "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER",
      ])
  }
}
