import Glibc
import WeirHTTP
import WeirIO

/// The file as it was read.
struct ReadFile {
  var routes: [ReadRoute] = []
  var listeners: [ListenerSettings] = []
  var upstreams: [ReadUpstream] = []
  var credentials: [ReadCredential] = []
  var proxy = ProxySettings.off
  var accessLog: AccessLogSettings?
  var trace: TraceSettings?
  var telemetry: ReadTelemetry?
  var requestID: RequestIDSettings?

  static let mapping = ConfigurationMapping(
    ReadFile(),
    misplaced: Dictionary(
      uniqueKeysWithValues: Set(ReadRoute.mapping.keys.map(\.name)).subtracting(["name", "upstream"])
        .map { ($0, "it belongs into the routes it is meant for") }
        + [("adaptiveConcurrency", ReadRoute.concurrencyIsGone)])
  ) {
    Key(
      "routes", .list(of: ReadRoute.form, 1...Configuration.maximumRoutes, "routes"), \.routes,
      missing: .required("list at least one route"), isDetailed: false)
    Key(
      "listeners", ListenerSettings.list, \.listeners,
      "where clients are awaited ([listeners.md](listeners.md))",
      missing: .words("that of `--gateway.listen-address`"), isDetailed: false)
    Key(
      "upstreams", .list(of: ReadUpstream.form, 0...NamedUpstream.maximumCount, "upstreams"), \.upstreams,
      "upstreams with several endpoints, which routes name ([upstreams.md](upstreams.md))", isDetailed: false)
    Key(
      "credentials", ReadCredential.list, \.credentials,
      "what requests to upstreams are authenticated with ([credentials.md](credentials.md))", isDetailed: false)
    Key(
      "proxy", ProxySettings.form, \.proxy,
      """
      beside `routes`: the proxy on the way to all upstreams and token services without one of their own \
      ([proxies.md](proxies.md)): `http://host:port`, `https://`, `socks5://` (names are looked up here) or `socks5h://` \
      (by the proxy); `environment`: those of `http_proxy` and its kin
      """)
    Key(
      "accessLog", AccessLogSettings.form, \.accessLog,
      """
      beside `routes`: a line for each request ([logs.md](logs.md#access-log)). In a route only `accessLog: off`: its requests \
      have none
      """)
    Key(
      "trace", TraceSettings.form, \.trace,
      "beside `routes`: whether traces are continued ([logs.md](logs.md#traces-and-request-identifiers)); `{}` for the defaults",
      missing: .words("none; `{}` where traces are exported"))
    Key(
      "telemetry", ReadTelemetry.form, \.telemetry,
      """
      beside `routes`: where spans and metrics are exported by OTLP. A key comes before the variable of OpenTelemetry's that \
      its text names; `off` ignores these variables too
      """, missing: .words("what `OTEL_*` variables say"))
    Key(
      "requestId", RequestIDSettings.form, \.requestID,
      "beside `routes`: whether requests and responses get an identifier; `{}` for the defaults")
  }
}

// MARK: The access log

extension AccessLogSettings {
  static let form: ConfigurationForm<AccessLogSettings?> = ConfigurationMapping(AccessLogSettings(to: .standardError)) {
    Key(
      "to", Target.form, \.target,
      "the absolute path of a file or FIFO, `stderr` or `stdout`: `to: /var/log/weir/access.log`",
      missing: .required("give /path/of/a/file, stderr or stdout"))
    Key("format", .word, \.format, "`combined`: as Apache writes it")
    Key(
      late: "fields", .list(of: .text(nil), 0...mostFields),
      """
      `query`, `user_agent`, `referer` and, for JSON, `header NAME`: what is logged beside the usual \
      fields. It may hold secrets
      """)
    Key(
      "sampleSuccesses", .number(0...1), \.sampleSuccesses,
      "the share of requests below 400 that have a line. All others have one, and so have responses that were cut")
  }.formOrOff(on: "write { to: stderr }, or the path of a file") { settings, given in
    settings.fields = given["fields"]?.accessLogFields(in: settings.format) ?? []
    return given.fitting("to") == nil ? nil : settings
  }
}

extension AccessLogSettings.Target {
  fileprivate static let form = ConfigurationForm<Self>(
    .named("path, `stderr` or `stdout`", .text("^(?:/.*|stderr|stdout)$"))
  ) { reader in
    let text = reader.read(as: .string) { text in
      if ["stderr", "stdout"].contains(text) { return nil }
      return text.hasPrefix("/")
        ? problem(logFile: text) : "expected the absolute path of a file, stderr or stdout"
    }
    return text.map { $0 == "stderr" ? .standardError : $0 == "stdout" ? .standardOutput : .file($0) }
  }

  /// The reason why a file can't be appended to, or made.
  private static func problem(logFile path: String) -> String? {
    if path.utf8.contains(0) { return "a path has no NUL" }
    if let status = try? FileSystem.status(ofFile: path, followsLink: true) {
      if status.kind == .directory { return "is a directory; give the path of a file in it" }
      return access(path, W_OK) == 0 ? nil : "can't be written: \(Errno.current)"
    }
    let end = path.lastIndex(of: "/") ?? path.startIndex
    let directory = end == path.startIndex ? "/" : String(path[..<end])
    return access(directory, W_OK | X_OK) == 0 ? nil : "can't be made in \(quoted(directory)): \(Errno.current)"
  }
}

extension ConfigurationReader {
  fileprivate func accessLogFields(in format: AccessLogSettings.Format) -> [AccessLogSettings.Field]? {
    var keys: Set<String> = []
    return elements(0...AccessLogSettings.mostFields, "fields")?.compactMap { element in
      guard let text = element.read(as: .string) else { return nil }
      guard let field = AccessLogSettings.Field(text), FieldSyntax.isToken(field.name ?? "query") else {
        element.report("give query, user_agent, referer, or header and a name, such as header X-Tenant")
        return nil
      }
      if format == .combined, case .header = field {
        element.report("has no place in combined; write format: json")
      } else if !keys.insert(field.key).inserted {
        element.report("is there twice, as \(field.key)")
      }
      return field
    }
  }
}

// MARK: Traces, and identifiers of requests

extension TraceSettings {
  static let form = ConfigurationMapping(
    TraceSettings(), rules: [.needs(["keepSlower"], "keepFailures", "is of no use without keepFailures: true")]
  ) {
    Key(
      "begin", .boolean, \.begins, "whether a request without a valid `traceparent` begins a trace",
      missing: .words("`true` where traces are exported, else `false`"))
    Key(
      "sample", .number(0...1), \.sample,
      "the share of the traces begun here that are sampled, in place of `OTEL_TRACES_SAMPLER`")
    Key(
      "keepFailures", .boolean, \.keepsFailures,
      """
      `true`: the gateway's spans of a request that failed, was retried or took longer than `keepSlower` are exported even if \
      the trace is not sampled
      """)
    Key(
      "keepSlower", .seconds(0.001...3600), \.keepsSlower,
      "the time from which on a request counts as slow for `keepFailures`")
  }.formOrOff()
}

extension RequestIDSettings {
  static let form = ConfigurationMapping(RequestIDSettings()) {
    Key(
      "header", .text(unless: HeaderRules.problem(settingEverywhere:)).called("name"), \.header,
      "the field of the identifier")
    Key(
      "trust", .boolean, \.trust,
      """
      whether a client's identifier of 1 to \(RequestIDSettings.longest) visible octets is kept; `false`: each \
      request gets a new one
      """)
  }.formOrOff()
}

extension HeaderRules {
  private static let meaningful: Set = [
    "forwarded", "grpc-timeout", "host", "max-forwards", "priority", "traceparent", "tracestate",
    "x-envoy-attempt-count", "x-envoy-expected-rq-timeout-ms", "x-retry-attempt",
  ]

  /// The reason why a field can be set neither in requests nor in responses.
  fileprivate static func problem(settingEverywhere name: String) -> String? {
    let lowercased = FieldSyntax.lowercased(name)
    if lowercased.hasPrefix("x-forwarded-") || meaningful.contains(lowercased) {
      return "\(name) has a meaning of its own here; give another field"
    }
    return problem(setting: name, of: .requests) ?? problem(setting: name, of: .responses)
  }
}
