import Weir
import WeirHTTP
import WeirResolver
import WeirTransport

// How the endpoints of an upstream are found, balanced and judged.

extension ConfigurationReader {
  /// One of a few words.
  func word(among words: [String]) -> String? {
    read(as: .string) { words.contains($0) ? nil : "give one of \(words.joined(separator: ", "))" }
  }

  // MARK: Lookups

  func resolveSettings() -> ResolveSettings? {
    mapping { keys in
      var settings = ResolveSettings()
      let maximum = keys.take("maximum")
      if let seconds = keys.takeSeconds("minimum", within: 1...60) { settings.minimum = seconds }
      settings.maximum = max(settings.maximum, settings.minimum)
      if let seconds = maximum?.seconds(within: 1...3600) {
        settings.maximum = seconds
        if seconds < settings.minimum { maximum?.report("must be at least minimum, \(text(settings.minimum))s") }
      }
      if let seconds = keys.takeSeconds("timeout", within: 0.1...30) { settings.timeout = seconds }
      if let family = keys.take("family")?.word(among: ResolveSettings.Family.allCases.map(\.rawValue)) {
        settings.family = ResolveSettings.Family(rawValue: family) ?? .any
      }
      if let servers = keys.take("servers")?.servers() { settings.servers = servers }
      return settings
    }
  }

  /// Reads up to four addresses with ports.
  private func servers() -> ResolverServers? {
    guard let list = elements() else { return nil }
    if list.isEmpty { report("holds no server; leave the key out to ask those of the system") }
    let texts = list.compactMap { element in element.read(as: .string, unless: { Self.problem(ofServers: [$0]) }) }
    if texts.count == list.count, let problem = Self.problem(ofServers: texts) { report(problem) }
    return try? ResolverServers(parsing: texts)
  }

  private static func problem(ofServers texts: [String]) -> String? {
    do {
      _ = try ResolverServers(parsing: texts)
      return nil
    } catch {
      return error.description
    }
  }

  // MARK: Balance

  /// Reads a word, or a mapping of a policy and its key.
  func balance() -> (EndpointSettings.Balance, RequestKey?)? {
    guard case .mapping = node.content else {
      guard let word = word(among: ["leastRequests", "roundRobin", "consistentHash"]) else { return nil }
      if word == "consistentHash" {
        report("needs a key: write { policy: consistentHash, key: client }")
        return nil
      }
      return (word == "roundRobin" ? .roundRobin : .leastRequests, nil)
    }
    return mapping { keys in
      let policy = keys.take("policy", required: "leastRequests, roundRobin or consistentHash")?.word(
        among: ["leastRequests", "roundRobin", "consistentHash"])
      let key = keys.take("key"), factor = keys.take("factor")
      guard policy == "consistentHash" else {
        for reader in [key, factor] where policy != nil { reader?.report("is for consistentHash only") }
        return policy.map { ($0 == "roundRobin" ? .roundRobin : .leastRequests, nil) }
      }
      if key == nil { report("is missing; client, header NAME or cookie NAME", key: "key") }
      var bound: Double? = 1.25
      if let factor { bound = factor.isOff ? nil : factor.number(within: EndpointSettings.factors) }
      return key?.requestKey().map { (.consistentHash(factor: bound), $0) }
    }
  }

  /// - Parameter takesCookies: Whether a cookie can be the key.
  func requestKey(takesCookies: Bool = true) -> RequestKey? {
    let forms = takesCookies ? "client, header NAME or cookie NAME" : "client or header NAME"
    let text = read(as: .string) {
      let key = RequestKey(parsing: $0)
      if case .cookie? = key, !takesCookies { return "must be \(forms)" }
      return key == nil ? "must be \(forms)" : nil
    }
    return text.flatMap(RequestKey.init(parsing:))
  }

  // MARK: Health

  /// Nil for `off`, and for an invalid value. An empty mapping has all defaults.
  func outlierSettings() -> OutlierSettings? {
    mapping(orOff: true, on: "it is on by default: leave the key out, or write {}") { keys in
      var settings = OutlierSettings()
      let longest = keys.take("longest")
      if let count = keys.takeCount("consecutiveFailures", within: OutlierSettings.consecutiveRange) {
        settings.consecutiveFailures = count
      }
      if let ratio = keys.take("failureRatio", within: OutlierSettings.ratios) { settings.failureRatio = ratio }
      if let count = keys.takeCount("minimumRequests", within: OutlierSettings.minimumRequestsRange) {
        settings.minimumRequests = count
      }
      if let seconds = keys.takeSeconds("window", within: OutlierSettings.windows) { settings.window = seconds }
      if let seconds = keys.takeSeconds("ejectFor", within: OutlierSettings.ejections) { settings.ejectFor = seconds }
      settings.longest = max(settings.longest, settings.ejectFor)
      if let seconds = longest?.seconds(within: OutlierSettings.ejections) {
        settings.longest = seconds
        if seconds < settings.ejectFor { longest?.report("must be at least ejectFor, \(text(settings.ejectFor))s") }
      }
      if let share = keys.take("maximumShare", within: EndpointSettings.shares) { settings.maximumShare = share }
      return settings
    }
  }

  /// Nil for `off`, and for an invalid value. An empty mapping checks that endpoints can be connected to.
  func endpointCheck() -> EndpointCheck? {
    mapping(orOff: true) { keys in
      var check = EndpointCheck()
      let timeout = keys.take("timeout")
      check.path = keys.take("path", as: .string) { PathPrefix.problem($0) }
      let requestKeys = ["method", "host", "headers", "status"].map { keys.take($0) }
      for reader in requestKeys where check.path == nil { reader?.report("is of no use without path: nothing is sent") }
      if let method = requestKeys[0]?.read(as: .string, unless: Self.problem(checkMethod:)) { check.method = method }
      check.host = requestKeys[1]?.read(as: .string) { ConfigurationBuilder.problem(hostField: $0) }
      check.headers = (requestKeys[2]?.entries() ?? []).compactMap { name, value in
        if let reason = HeaderRules.problem(setting: name) { value.report(reason) }
        if FieldSyntax.isSameName(name, "host") { value.report("write it as host of the check") }
        return value.headerRule(name)
      }
      if let statuses = requestKeys[3]?.statuses() { check.statuses = statuses }
      check.port = keys.takeCount("port", within: 1...65_535)
      if let seconds = keys.takeSeconds("interval", within: 0.5...3600) { check.interval = seconds }
      check.timeout = min(check.timeout, check.interval)
      if let seconds = timeout?.seconds(within: EndpointCheck.timeouts) {
        check.timeout = seconds
        if seconds > check.interval { timeout?.report("must be at most interval, \(text(check.interval))s") }
      }
      let unhealthy = keys.takeCount("unhealthyAfter", within: CheckThresholds.range)
      let healthy = keys.takeCount("healthyAfter", within: CheckThresholds.range)
      check.thresholds = CheckThresholds(unhealthyAfter: unhealthy ?? 3, healthyAfter: healthy ?? 2)
      return check
    }
  }

  private static func problem(checkMethod method: String) -> String? {
    guard FieldSyntax.isToken(method) else { return "\(quoted(method)) is not a method name" }
    return method == "CONNECT" ? "a check makes no tunnel" : nil
  }

  /// Reads a list of statuses and of ranges of them, such as `200-399`.
  private func statuses() -> [ClosedRange<Int>]? {
    guard let list = elements() else { return nil }
    if list.isEmpty { report("holds no status") }
    return list.compactMap { element in
      if case .scalar(let scalar) = element.node.content, case .integer(let status) = scalar.value {
        return Self.range("\(status)-\(status)") ?? element.reportStatus()
      }
      return element.read(as: .string).flatMap { Self.range($0) ?? element.reportStatus() }
    }
  }

  private func reportStatus() -> ClosedRange<Int>? {
    report("must be a status such as 204, or a range such as 200-399, from 200 to 599")
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
