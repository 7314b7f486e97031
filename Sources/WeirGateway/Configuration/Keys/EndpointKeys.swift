import WeirHTTP
import WeirResolver
import WeirTransport

// How the endpoints of an upstream are found, balanced and judged.

extension ResolveSettings {
  static let form: ConfigurationForm<ResolveSettings> = ConfigurationMapping(ResolveSettings()) {
    Key("minimum", .seconds(1...60), \.minimum, "the shortest time between two lookups")
    Key(
      "maximum", .seconds(1...3600), \.maximum,
      "at least `minimum`; the longest", missing: .ownOr("`minimum` if that is more"))
    Key("timeout", .seconds(0.1...30), \.timeout, "of one lookup with all its tries")
    Key("family", .word, \.family)
    Key(
      "servers", servers, \.servers,
      """
      name servers for this entry alone, on port 53 unless one is given: `servers: ["10.0.0.2:53", \
      "[2001:db8::2]:53"]`
      """, missing: .words("those of the system"))
  }.form { settings, given in
    let minimum = ConfigurationDuration.text(seconds: settings.minimum)
    given.require("maximum", &settings.maximum, atLeast: settings.minimum, "minimum, \(minimum)")
    return settings
  }

  private static let servers = ConfigurationForm<ResolverServers>(.list(of: .text(nil), 1...4)) { reader in
    let empty = "holds no server; leave the key out to ask those of the system"
    guard let list = reader.elements(0...Int.max, "servers", empty: empty) else { return nil }
    let texts = list.compactMap { element in
      element.parse { text in
        _ = try ResolverServers(parsing: [text])
        return text
      }
    }
    do {
      return try ResolverServers(parsing: texts)
    } catch {
      if texts.count == list.count { reader.report("\(error)") }
      return nil
    }
  }
}

/// The value of `balance` as it was read.
struct ReadBalance {
  var policy = EndpointSettings.Balance.leastRequests
  var key: RequestKey?
  var factor: Double? = 1.25

  private static let policies = ConfigurationForm<EndpointSettings.Balance>.word([
    ("leastRequests", .leastRequests), ("roundRobin", .roundRobin), ("consistentHash", .consistentHash()),
  ])

  /// A word, or a mapping of a policy and its key.
  static let form = ConfigurationForm<ReadBalance>(
    .either([.words(["leastRequests", "roundRobin"]), mapping.shape]), text: { policies.text($0.policy) }
  ) { reader in
    if case .mapping = reader.node.content { return mapping.read(reader) }
    guard let policy = policies.read(reader) else { return nil }
    if case .consistentHash = policy {
      reader.report("needs a key: write { policy: consistentHash, key: client }")
      return nil
    }
    return ReadBalance(policy: policy)
  }

  private static let mapping: ConfigurationForm<ReadBalance> = ConfigurationMapping(
    ReadBalance(),
    rules: [
      .belong(
        to: "policy", being: "consistentHash", ["key", "factor"], "is for consistentHash only", required: "key",
        "client, header NAME or cookie NAME")
    ]
  ) {
    Key("policy", policies, \.policy, missing: .required("leastRequests, roundRobin or consistentHash"))
    Key(
      "key", .key(), \.key,
      """
      `client` (the client's address, which a trusted proxy may report), `header NAME` or `cookie NAME`. A request \
      without it goes by `leastRequests`
      """, missing: .words("required for `consistentHash`"))
    Key(
      "factor", .off(or: .number(EndpointSettings.factors)), \.factor,
      "an endpoint with more than this times its part of the requests under way passes on")
  }.form { read, given in
    if case .consistentHash = read.policy { read.policy = .consistentHash(factor: read.factor) }
    return given.fitting("policy") == nil ? nil : read
  }
}

extension OutlierSettings {
  /// An empty mapping has all defaults.
  static let form: ConfigurationForm<OutlierSettings?> = ConfigurationMapping(OutlierSettings()) {
    Key("consecutiveFailures", .integer(consecutiveRange), \.consecutiveFailures, "failures in a row")
    Key("failureRatio", .number(ratios), \.failureRatio, "failed ÷ ended attempts")
    Key(
      "minimumRequests", .integer(minimumRequestsRange), \.minimumRequests,
      "attempts in the window before the ratio counts")
    Key("window", .seconds(windows), \.window, "the period over which attempts are counted")
    Key("ejectFor", .seconds(ejections), \.ejectFor, "the n-th time in a row lasts n times as long, ±10 %")
    Key(
      "longest", .seconds(ejections), \.longest,
      """
      at least `ejectFor`; the longest time, and how long an endpoint must be quiet until earlier times are \
      forgotten
      """, missing: .ownOr("`ejectFor` if that is more"))
    Key(
      "maximumShare", .number(EndpointSettings.shares), \.maximumShare,
      "of the endpoints of one priority, rounded down")
  }.formOrOff(on: "it is on by default: leave the key out, or write {}") { settings, given in
    let ejectFor = ConfigurationDuration.text(seconds: settings.ejectFor)
    given.require("longest", &settings.longest, atLeast: settings.ejectFor, "ejectFor, \(ejectFor)")
    return settings
  }
}

extension EndpointCheck {
  /// An empty mapping checks that endpoints can be connected to.
  static let form: ConfigurationForm<EndpointCheck?> = ConfigurationMapping(
    EndpointCheck(),
    rules: [.needs(["method", "host", "headers", "status"], "path", "is of no use without path: nothing is sent")]
  ) {
    Key("path", .path, \.path, "sends a request: `check: { path: /healthz }`")
    Key("method", .text(unless: problem(method:)), \.method, "needs `path`")
    Key(
      "host", .text { ConfigurationForm<String>.problem(host: $0) }.called("host"), \.host,
      "needs `path`", missing: .words("the endpoint as written"))
    Key(
      "headers", HeaderRule.list(unless: problem(header:)).hidden, \.headers,
      """
      needs `path`: `headers: { X-Check: "1" }`; a value may be a secret, as in `headers.set` of routes
      """, isDetailed: false)
    Key("status", statuses, \.statuses, "good statuses: `status: [200, 300-399]`. Needs `path`")
    Key(
      "port", .integer(1...65_535), \.port,
      "not for `unix:` endpoints, which have none", missing: .words("the endpoint's"))
    Key("interval", .seconds(0.5...3600), \.interval, "±20 % at random; the first check comes within a second")
    Key("timeout", .seconds(timeouts), \.timeout, "at most `interval`", missing: .ownOr("`interval` if that is less"))
    Key(
      "unhealthyAfter", .integer(CheckThresholds.range), \.thresholds.unhealthyAfter,
      "bad checks in a row: the endpoint gets no requests")
    Key("healthyAfter", .integer(CheckThresholds.range), \.thresholds.healthyAfter, "good ones: it gets requests again")
  }.formOrOff { check, given in
    let interval = ConfigurationDuration.text(seconds: check.interval)
    given.require("timeout", &check.timeout, atMost: check.interval, "interval, \(interval)")
    return check
  }

  @Sendable private static func problem(method: String) -> String? {
    guard FieldSyntax.isToken(method) else { return "\(quoted(method)) is not a method name" }
    return method == "CONNECT" ? "a check makes no tunnel" : nil
  }

  @Sendable private static func problem(header name: String) -> String? {
    HeaderRules.problem(setting: name)
      ?? (FieldSyntax.isSameName(name, "host") ? "write it as host of the check" : nil)
  }

  /// A list of statuses and of ranges of them, such as `200-399`.
  private static let statuses = ConfigurationForm<[ClosedRange<Int>]>(
    .list(of: .either([.integer(200...599), .text("^[2-5][0-9]{2}-[2-5][0-9]{2}$")]), 1...Int.max),
    text: { ranges in "[\(ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ", "))]" }
  ) { reader in
    reader.elements(0...Int.max, "statuses", empty: "holds no status")?.compactMap { element in
      if case .scalar(let scalar) = element.node.content, case .integer(let status) = scalar.value {
        return range("\(status)-\(status)") ?? reportStatus(element)
      }
      return element.read(as: .string).flatMap { range($0) ?? reportStatus(element) }
    }
  }

  private static func reportStatus(_ reader: ConfigurationReader) -> ClosedRange<Int>? {
    reader.report("must be a status such as 204, or a range such as 200-399, from 200 to 599")
    return nil
  }

  private static func range(_ text: String) -> ClosedRange<Int>? {
    let bounds = text.split(separator: "-", omittingEmptySubsequences: false)
    guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.count == 3 && $0.utf8.allSatisfy(\.isDigit) }),
      let first = Int(bounds[0]), let last = Int(bounds[1]), first <= last, (200...599).contains(first),
      (200...599).contains(last)
    else { return nil }
    return first...last
  }
}
