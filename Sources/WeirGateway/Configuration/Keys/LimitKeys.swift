import WeirHTTP

// The limits on the requests of a route, and the protocols to which they may switch.

extension RateLimit {
  private static let form: ConfigurationForm<RateLimit> = ConfigurationMapping(
    ReadLimit(), misplaced: ["scope": "the limit is this gateway's"]
  ) {
    Key(
      "name", .plainName, \.name,
      "1 to 64 letters, digits, hyphens, underscores and dots, unique within the route; a label of metrics",
      missing: .required("it labels the limit's metrics"))
    Key(
      "rate", RequestRate.form, \.rate, "`100/s`, `1000/m` or `5/h`; up to \(mostPerSecond)/s",
      missing: .required("such as 100/s, 1000/m or 5/h"))
    Key(
      "burst", .integer(bursts), \.burst,
      "requests that may come at once", missing: .words("what `rate` allows in one second, rounded up"))
    ReadLimit.keys(
      key: """
        `route`: all requests share the limit; `client`: those of one address do; `user`: those of one name of \
        `auth` do, and all with tokens share one; `header NAME`: those with the same first value of this field, or \
        without it
        """,
      prefix: "the first bits of an IPv6 address that are one client; only with `client`",
      enforce: "`false`: requests beyond the limit are counted, and go on")
  }.form { read, given in
    let key = read.key(given)
    guard given.fitting("name") != nil, let rate = read.rate else { return nil }
    return RateLimit(read.name, rate, burst: read.burst, key: key, enforces: read.enforces)
  }

  static let list = ConfigurationForm.list(of: form, 1...RouteLimits.mostRates, "limits", unlike: \.name) {
    "another limit of this route is named \(quoted($0)) (line \($1)); names must differ"
  }
}

extension RequestRate {
  static let form = ConfigurationForm<RequestRate>(
    .named("rate", .text(ConfigurationPattern.rate(upTo: mostPerSecond)))
  ) { reader in
    reader.read(as: kind) {
      $0.count >= 1 && $0.count <= mostPerSecond * $0.period ? nil : "must be 1/h to \(mostPerSecond)/s"
    }
  }

  private static let mostPerSecond = RateLimit.mostPerSecond

  /// `100/s`, `1000/m`, `5/h`.
  static let kind = ConfigurationKind<RequestRate>(name: "a rate such as 100/s, 1000/m or 5/h") { scalar in
    guard case .string(let text) = scalar else { return nil }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.allSatisfy(\.isDigit) else { return nil }
    let periods: [Substring: Int] = ["s": 1, "m": 60, "h": 3600]
    // A number that is too large for an integer is out of the rate's range too.
    return periods[parts[1]].map { RequestRate(Int(parts[0]) ?? .max, per: $0) }
  }
}

extension ConcurrencyLimit {
  private static let form: ConfigurationForm<ConcurrencyLimit> = ConfigurationMapping(ReadLimit()) {
    Key(
      "limit", .integer(limits), \.limit, missing: .required("the number of requests that may be under way at one time")
    )

    ReadLimit.keys(key: "as in `rateLimits`", prefix: "as in `rateLimits`", enforce: "as in `rateLimits`")
  }.form { read, given in
    read.limit.map { ConcurrencyLimit($0, key: read.key(given), enforces: read.enforces) }
  }

  static let list = ConfigurationForm.list(of: form, 1...RouteLimits.mostConcurrency, "limits", unlike: \.label) {
    "another limit of this route has the same key (line \($1)); keys must differ"
  }
}

/// A limit as it was read.
private struct ReadLimit {
  var name = ""
  var rate: RequestRate?
  var burst: Int?
  var limit: Int?
  var key = LimitKey.standard
  var prefix6 = LimitKey.standardPrefix6
  var enforces = true

  @KeyList<ReadLimit> static func keys(key: String, prefix: String, enforce: String) -> [Key<ReadLimit>] {
    Key("key", LimitKey.form, \.key, key)
    Key("clientPrefix6", .integer(LimitKey.prefixes6), \.prefix6, prefix)
    Key("enforce", .boolean, \.enforces, enforce)
  }

  /// The key, with the bits that make a client.
  func key(_ given: ConfigurationGiven) -> LimitKey {
    if case .client = key { return .client(prefix6: prefix6) }
    given["clientPrefix6"]?.report("only the key client has addresses")
    return key
  }
}

extension LimitKey {
  fileprivate static let form = ConfigurationForm<LimitKey>(
    .text("^(?:route|client|user|header [!#$%&'*+.^_`|~0-9A-Za-z-]+)$"),
    text: { $0 == .route ? "route" : $0 == .standard ? "client" : nil }
  ) { reader in
    guard let text = reader.read(as: .string) else { return nil }
    switch text {
    case "route": return .route
    case "client": return .standard
    case "user": return .user
    default:
      let words = text.split(separator: " ", omittingEmptySubsequences: false)
      if words.count == 2, words[0] == "header", FieldSyntax.isToken(words[1].utf8) {
        return .header(FieldSyntax.lowercased(String(words[1])))
      }
      reader.report("must be route, client, user or header and a field's name, such as header X-Tenant")
      return nil
    }
  }
}

// MARK: Tunnels

extension TunnelRule {
  private static let protocols: ConfigurationForm<[String]> = {
    let counts = 1...16
    let name = ConfigurationForm.text(unless: problem(protocol:))
    return ConfigurationForm(.list(of: name.shape, counts)) { reader in
      guard let list = reader.elements(counts, "protocols"), counts.contains(list.count) else { return nil }
      return list.compactMap(name.read)
    }
  }()

  private static let mapping: ConfigurationForm<TunnelRule> = ConfigurationMapping(TunnelRule(protocols: [])) {
    Key(
      "protocols", protocols, \.protocols,
      "names, perhaps with a version (`name/1`), of at most 64 bytes, in any case; not `h2c`",
      missing: .required("list the protocols, such as [websocket]"))
    Key(
      "idleTimeout", .seconds(0.1...86_400), \.idleTimeout,
      "a tunnel without a byte from either side for so long is closed")
    Key("limit", .integer(1...100_000), \.limit, "tunnels of the route at once")
  }.form { rule, _ in
    rule.protocols.isEmpty ? nil : rule
  }

  /// A list of protocols, or a mapping that has one.
  static let form = ConfigurationForm<TunnelRule>(
    .either([protocols.shape, mapping.shape])
  ) { reader in
    switch reader.node.content {
    case .sequence: return protocols.read(reader).map { TunnelRule(protocols: $0) }
    case .mapping: return mapping.read(reader)
    case .scalar:
      reader.report("expected a list of protocols such as [websocket], or a mapping with protocols")
      return nil
    }
  }

  /// A name, perhaps with a version (RFC 9110 §7.8).
  @Sendable private static func problem(protocol text: String) -> String? {
    let longest = 64
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard text.utf8.count <= longest, parts.allSatisfy({ FieldSyntax.isToken($0.utf8) }) else {
      return "must be at most \(longest) bytes: the name of a protocol, perhaps with / and a version"
    }
    let name = FieldSyntax.lowercased(String(parts[0]))
    if name == "h2c" || name == "http" { return "requests in HTTP/2 would pass by all routes; they can't be tunnelled" }
    return nil
  }
}
