import WeirHTTP

// The limits on the requests of a route.

extension ConfigurationKind<RequestRate> {
  /// `100/s`, `1000/m`, `5/h`.
  static var rate: Self {
    Self(name: "a rate such as 100/s, 1000/m or 5/h") { scalar in
      guard case .string(let text) = scalar else { return nil }
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0].utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else {
        return nil
      }
      let periods: [Substring: Int] = ["s": 1, "m": 60, "h": 3600]
      // A number that is too large for an integer is out of the rate's range too.
      guard let period = periods[parts[1]], !parts[0].isEmpty else { return nil }
      return RequestRate(Int(parts[0]) ?? .max, per: period)
    }
  }
}

extension ConfigurationReader {
  /// - Parameter knowsUsers: Whether the route asks its clients who they are.
  func rateLimits(knowsUsers: Bool) -> [RateLimit] {
    var lines: [String: Int] = [:]
    return limitElements(atMost: RouteLimits.mostRates).compactMap { element in
      element.mapping { keys in
        let name = keys.take("name", required: "it labels the limit's metrics")?.read(
          as: .string, unless: ConfigurationBuilder.problem(plainName:))
        if let name, let line = lines.updateValue(element.node.position.line, forKey: name) {
          element.report("another limit of this route is named \(quoted(name)) (line \(line)); names must differ")
        }
        let rate = keys.take("rate", required: "such as 100/s, 1000/m or 5/h")?.read(as: .rate) {
          $0.count >= 1 && $0.count <= RateLimit.mostPerSecond * $0.period
            ? nil : "must be 1/h to \(RateLimit.mostPerSecond)/s"
        }
        let burst = keys.takeCount("burst", within: RateLimit.bursts)
        let key = keys.takeLimitKey(knowsUsers)
        let enforces = keys.take("enforce", as: .boolean)
        _ = keys.take("scope", as: .string, unless: Self.problem(scope:))
        guard let name, let rate else { return nil }
        var limit = RateLimit(name, rate, burst: burst, key: key)
        limit.enforces = enforces ?? true
        return limit
      }
    }
  }

  /// - Parameter knowsUsers: Whether the route asks its clients who they are.
  func concurrencyLimits(knowsUsers: Bool) -> [ConcurrencyLimit] {
    var lines: [String: Int] = [:]
    return limitElements(atMost: RouteLimits.mostConcurrency).compactMap { element in
      element.mapping { keys in
        let count = keys.take("limit", required: "the number of requests that may be under way at one time")?.count(
          within: ConcurrencyLimit.limits)
        let key = keys.takeLimitKey(knowsUsers)
        let enforces = keys.take("enforce", as: .boolean)
        guard let count else { return nil }
        var limit = ConcurrencyLimit(count, key: key)
        limit.enforces = enforces ?? true
        if let line = lines.updateValue(element.node.position.line, forKey: limit.label) {
          element.report("another limit of this route has the same key (line \(line)); keys must differ")
        }
        return limit
      }
    }
  }

  private static func problem(scope: String) -> String? {
    switch scope {
    case "local": nil
    case "shared": "the limit is this gateway's; write local, or leave the key out"
    default: "must be local"
    }
  }

  private func limitElements(atMost most: Int) -> [ConfigurationReader] {
    guard let list = elements() else { return [] }
    if !(1...most).contains(list.count) { report("holds \(list.count) limits; give 1 to \(most)") }
    return list
  }

  fileprivate func limitKey(_ knowsUsers: Bool) -> LimitKey? {
    guard let text = read(as: .string) else { return nil }
    switch text {
    case "route": return .route
    case "client": return .defaultClient
    case "user":
      if !knowsUsers { report("nobody is asked for a name here; give the route auth, or choose another key") }
      return .user
    default:
      let words = text.split(separator: " ", omittingEmptySubsequences: false)
      if words.count == 2, words[0] == "header", FieldSyntax.isToken(words[1].utf8) {
        return .header(FieldSyntax.lowercased(String(words[1])))
      }
      report("must be route, client, user or header and a field's name, such as header X-Tenant")
      return nil
    }
  }
}

extension ConfigurationKeys {
  /// The key by which a limit counts.
  fileprivate mutating func takeLimitKey(_ knowsUsers: Bool) -> LimitKey {
    let key = take("key").map { $0.limitKey(knowsUsers) } ?? .defaultClient
    guard let prefix = take("clientPrefix6") else { return key ?? .defaultClient }
    let bits = prefix.count(within: LimitKey.prefixes6)
    guard case .client? = key else {
      if key != nil { prefix.report("only the key client has addresses") }
      return key ?? .defaultClient
    }
    return bits.map { .client(prefix6: $0) } ?? .defaultClient
  }
}
