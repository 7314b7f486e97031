import Weir
import WeirHTTP

// Where a route sends its requests: to a URL, to an entry of `upstreams`, or to several.

extension ConfigurationBuilder {
  static let upstreamText = "the URL that requests are sent to, such as http://127.0.0.1:9000, or an entry of upstreams"

  /// Reads the values of `upstream`, `splitBy` and `fallback`.
  func forwarding(_ upstream: ConfigurationReader?, _ keys: inout ConfigurationKeys) -> ReadAction {
    let splitBy = keys.take("splitBy")
    let fallback = keys.take("fallback").flatMap { self.fallback($0) }
    var action = ReadAction(fallback: fallback, forwards: true)
    guard let upstream else { return action }
    if case .sequence = upstream.node.content {
      action.isNamed = true
      action.value = split(upstream, by: splitBy?.requestKey(takesCookies: false)).map { .split($0) }
      return action
    }
    splitBy?.report("needs several upstreams to split requests among")
    let (target, tls) = self.upstream(upstream)
    action.value = target.map { .upstream($0) }
    action.tls = tls
    if let target, case .upstream(target)? = action.fallback?.action {
      upstream.report("is its own fallback")
    }
    action.isNamed = target?.isNamed ?? false
    return action
  }

  /// Reads a URL, a mapping of a URL and its TLS, or the name of an entry of `upstreams`.
  private func upstream(_ value: ConfigurationReader) -> (Upstream?, UpstreamTLS?) {
    guard case .mapping = value.node.content else {
      if case .scalar(let scalar) = value.node.content, case .string(let text) = scalar.value, Self.isName(text) {
        return (named(value), nil)
      }
      return (Self.url(value), nil)
    }
    return value.mapping { keys in
      keys.misplaced["name"] = "write upstream: NAME, or a list of names with weights"
      let upstream = keys.take("url", required: Self.upstreamText).flatMap(Self.url)
      return (upstream, keys.take("tls")?.upstreamTLS(of: upstream))
    } ?? (nil, nil)
  }

  /// Whether a text looks like a name of an entry, and not like a URL that lacks its scheme.
  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && !text.contains("/") && !text.contains(":")
  }

  private func named(_ value: ConfigurationReader) -> Upstream? {
    guard let name = value.read(as: .string) else { return nil }
    if let known = upstreams[name] { return known.value.target }
    // The entry has problems of its own, which are told.
    if writtenUpstreams.contains(name) { return nil }
    let hint = suggestion(for: name, among: Set(upstreams.keys)).map { "did you mean \(quoted($0))?" }
    value.report(
      "no entry of upstreams is named \(quoted(name)); \(hint ?? "a URL begins with http:// or https://")")
    return nil
  }

  private static func url(_ value: ConfigurationReader) -> Upstream? {
    guard let text = value.read(as: .string) else { return nil }
    do {
      return try Upstream(parsing: text)
    } catch {
      value.report(error.message)
      return nil
    }
  }

  private func split(_ reader: ConfigurationReader, by key: RequestKey?) -> UpstreamSplit? {
    guard let list = reader.elements() else { return nil }
    if !UpstreamSplit.counts.contains(list.count) {
      let most = UpstreamSplit.counts.upperBound
      reader.report("holds \(list.count) upstreams; give 2 to \(most), or one without a list")
    }
    var parts: [UpstreamSplit.Part] = []
    for element in list {
      guard let part = part(element) else { continue }
      if parts.contains(where: { $0.upstream == part.upstream }) {
        element.report("\(quoted(part.upstream.host)) is already in this list")
      }
      parts.append(part)
    }
    guard parts.count == list.count else { return nil }
    if parts.allSatisfy({ $0.weight == 0 }) { reader.report("has no weight above 0, so no request could go anywhere") }
    return UpstreamSplit(parts, by: key)
  }

  private func part(_ reader: ConfigurationReader) -> UpstreamSplit.Part? {
    reader.mapping { keys in
      keys.misplaced["url"] = "only entries of upstreams can have weights; name one"
      let weight = keys.takeCount("weight", within: UpstreamSplit.weights) ?? 1
      let upstream = keys.take("name", required: "that of an entry of upstreams").flatMap { named($0) }
      return upstream.map { UpstreamSplit.Part($0, weight: weight) }
    }
  }

  private func fallback(_ reader: ConfigurationReader) -> RouteFallback? {
    reader.mapping { keys in
      let upstream = keys.take("upstream"), respond = keys.take("respond")
      let codes = keys.take("statusCodes").flatMap { Self.replacedStatuses($0) }
      if let upstream, let respond { Self.later(upstream, respond).report("give only one of upstream and respond") }
      if upstream == nil, respond == nil { reader.report("needs upstream or respond") }
      let action: RouteFallback.Action? =
        if let upstream { named(upstream).map { .upstream($0) } } else {
          respond.flatMap { Self.response($0) }.map { .respond($0) }
        }
      guard let action else { return nil }
      var fallback = RouteFallback(action)
      if let codes { fallback.statusCodes = codes }
      return fallback
    }
  }

  private static func replacedStatuses(_ reader: ConfigurationReader) -> Set<Int>? {
    guard let list = reader.elements() else { return nil }
    if list.isEmpty { reader.report("holds no status, so nothing is replaced; leave the key out for all") }
    return Set(list.compactMap { $0.read(as: .integer, unless: problem(replaced:)) })
  }

  private static func problem(replaced status: Int) -> String? {
    RouteFallback.replaceable.contains(status)
      ? nil : "must be 502, 503 or 504, the gateway's own answers for its upstream"
  }
}
