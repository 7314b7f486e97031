@testable import WeirGateway

/// A file that gives one key a value.
struct KeySample: CustomStringConvertible, Sendable {
  /// The key's path without the places in lists: `routes.retry.limit`.
  let key: String
  let document: String
  /// Whether the value is of a kind, within the range and among the words of the key's entry.
  let fits: Bool

  var description: String { "\(key) \(fits ? "takes" : "refuses") \(document)" }
}

/// Values for every key of the file, made of the entries: each edge of a range and one beyond it, each word and a wrong
/// one, and each wrong kind.
enum KeySamples {
  static let all: [KeySample] = {
    var found: [KeySample] = []
    walk(ReadFile.mapping.outline, in: "", { $0 }, into: &found)
    return found
  }()

  private static func walk(
    _ outline: ConfigurationOutline, in place: String, _ document: (String) -> String, into found: inout [KeySample]
  ) {
    for key in outline.keys {
      let path = place.isEmpty ? key.name : "\(place).\(key.name)"
      func file(_ value: String) -> String {
        let others = companions(of: key.name, being: value, in: outline, place)
        return document("{\((others + ["\(key.name): \(value)"]).joined(separator: ", "))}")
      }
      // Whether a file is there, and right, is another question.
      let values = Values(key.shape, path)
      let good = files.contains(path) ? [] : values.good
      found += good.map { KeySample(key: path, document: file($0), fits: true) }
      found += (values.bad + values.wrongKinds).map { KeySample(key: path, document: file($0), fits: false) }
      for (inner, around) in key.shape.mappings(path) {
        walk(inner, in: path, { file(around($0)) }, into: &found)
      }
    }
  }

  /// The keys that a key needs beside it.
  private static func companions(
    of name: String, being value: String, in outline: ConfigurationOutline, _ place: String
  ) -> [String] {
    let path = place.isEmpty ? name : "\(place).\(name)"
    var texts = beside[path] ?? []
    var names = Set(texts.compactMap { $0.split(separator: ":").first.map(String.init) } + [name])
    func add(_ other: String, _ value: String? = nil) {
      guard names.insert(other).inserted, let key = outline.keys.first(where: { $0.name == other }) else { return }
      let path = place.isEmpty ? other : "\(place).\(other)"
      texts.append("\(other): \(value ?? Values(key.shape, path).good[0])")
    }
    for rule in outline.rules {
      switch rule {
      case .some(let keys, _), .one(let keys, _): if names.isDisjoint(with: keys) { add(keys[0]) }
      case .missing(let key, let others, _): if names.isDisjoint(with: [key] + others) { add(key) }
      case .needs(let keys, let other, _): if keys.contains(name) { add(other) }
      case .belong(let other, let word, let keys, _, let required, _):
        if keys.contains(name) { add(other, word) }
        if keys.contains(name) || value == word { add(required) }
      case .atMostOne, .excludes: break
      }
    }
    for key in outline.keys where key.isRequired { add(key.name) }
    return texts
  }

  /// Other keys that have to be there for a key's whole range.
  private static let beside = [
    "routes": [upstreams, credentials, listeners], "credentials": [route], "listeners": [route],
    "upstreams": [route, credentials], "proxy": [route, credentials], "accessLog": [route], "trace": [route],
    "requestId": [route], "telemetry": [route, credentials], "telemetry.traces.batch": ["queue: 1000000"],
    "telemetry.proxy.tls": [proxy],
    "routes.connect": hosted, "routes.upstream": hosted, "routes.destinationPolicy": hosted + ["connect: {}"],
    "routes.splitBy": ["name: a", "upstream: [{name: one}, {name: two}]"],
    "routes.replacePrefix": ["name: a", "upstream: 'http://h'", "match: {pathPrefix: /a}"],
    "routes.stripPrefix": ["name: a", "upstream: 'http://h'", "match: {pathPrefix: /a}"],
    "routes.redirect": ["name: a", "match: {pathPrefix: /a}"], "routes.respond": ["name: a"],
    "routes.attemptTimeout": ["name: a", "upstream: 'http://h'", "timeout: 1d"],
    "routes.retry.backoff.maximum": ["base: 1ms"],
    "routes.hedge": ["name: a", "upstream: 'http://h'", "timeout: 1d"],
    "routes.rateLimits": [users, "name: a", "upstream: 'http://h'"],
    "routes.redirect.keepQuery": ["port: 1"], "routes.redirect.status": ["port: 1"],
    "routes.overload.waitOverloaded": ["wait: 1m"], "routes.overload.initial": ["minimum: 1"],
    "upstreams.overload.waitOverloaded": ["wait: 1m"], "upstreams.overload.initial": ["minimum: 1"],
    "upstreams.resolve.maximum": ["minimum: 1s"], "upstreams.outlier.longest": ["ejectFor: 1s"],
    "upstreams.check.timeout": ["interval: 1h"], "upstreams.tls": [name, endpoints, "scheme: https"],
    "upstreams.srv": [name], "upstreams.file": [name],
    "proxy.tls": [proxy], "upstreams.proxy.tls": [proxy], "routes.upstream.proxy.tls": [proxy],
    "credentials.oauth2.proxy.tls": [proxy], "routes.upstream.tls": ["url: 'https://h'"],
    "credentials.oauth2.clientSecret": ["clientID: a"],
  ]

  private static let upstreams = """
    upstreams: [{name: one, endpoints: ["127.0.0.1:1"]}, {name: two, endpoints: ["127.0.0.1:2"]}]
    """
  private static let credentials = "credentials: [{name: one, bearer: a}]"
  private static let listeners = """
    listeners: [{name: gateway, address: ':1', forwardProxy: true}, {name: other, address: ':2'}]
    """
  private static let hosted = ["name: a", "match: {host: h}"]
  private static let proxy = "url: 'https://h:1'"
  private static let route = "routes: [{name: a, upstream: 'http://h'}]"
  private static let name = "name: one"
  private static let endpoints = "endpoints: ['127.0.0.1:1']"
  private static let users = "auth: {bearerTokens: [token]}"

  /// Keys that name files to be read.
  private static let files = Set([
    "routes.auth.file", "routes.upstream.tls.ca", "routes.upstream.tls.certificate", "routes.upstream.tls.key",
    "upstreams.tls.ca", "upstreams.tls.certificate", "upstreams.tls.key", "listeners.tls.clientCA",
    "listeners.tls.ticketKeys", "listeners.tls.certificates", "listeners.tls.certificates.certificate",
    "listeners.tls.certificates.key", "listeners.tls", "credentials.oauth2.tls.ca",
    "credentials.oauth2.tls.certificate", "credentials.oauth2.tls.key", "telemetry.tls.ca", "telemetry.tls.certificate",
    "telemetry.tls.key",
  ]).union(
    ["proxy", "telemetry.proxy", "upstreams.proxy", "routes.upstream.proxy", "credentials.oauth2.proxy"].flatMap {
      place in
      ["ca", "certificate", "key"].map { "\(place).tls.\($0)" }
    })

  /// A right value of each text that not every text is, by the end of its path.
  fileprivate static let texts = [
    "address": "'127.0.0.1:1'", "endpoints": "'127.0.0.1:1'", "upstream": "'http://h'", "url": "'http://h'",
    "allow": "10.0.0.0/8", "deny": "10.0.0.0/8", "clients": "10.0.0.0/8", "trustedProxies": "unix",
    "accessLog.to": "stderr", "accessLog.fields": "query", "path": "/a", "pathPrefix": "/a", "pathPattern": "/a/*",
    "operations": "'GET /a/{b}'",
    "prefix": "/a", "headers.prefix": "a", "query.prefix": "a", "replacePrefix": "/a", "basePath": "/a",
    "methods": "GET", "method": "GET", "listener": "gateway", "basicUsers": hash, "rate": "1/s", "key": "client",
    "splitBy": "client", "srv": "_a._tcp.b.c", "file": "/proc/sys/kernel/ostype", "types": "text/html",
    "fallback.upstream": "one",
    "upstream.name": "one", "servers": "'127.0.0.1:53'", "pins": "'\(String(repeating: "A", count: 43))='",
    "endpoint": "'http://127.0.0.1:1'", "tokenURL": "'https://h'", "proxy": "'http://h:1'", "proxy.url": "'http://h:1'",
    "resource": "'urn:a'",
    "subjectTokenType": "'urn:a'", "credential": "one",
    "statuses": "200-399", "status": "200-399", "contentType": "text/html",
  ]

  private static let hash = "'$2y$04$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui'"
}

/// Values by their shape.
private struct Values {
  enum Kind: CaseIterable {
    case boolean, integer, float, text, list, mapping

    var sample: String {
      switch self {
      case .boolean: "true"
      case .integer: "5"
      case .float: "1.5"
      case .text: "some-text"
      case .list: "[]"
      case .mapping: "{}"
      }
    }
  }

  var good: [String] = []
  var bad: [String] = []
  var kinds: Set<Kind> = []

  var wrongKinds: [String] { Kind.allCases.filter { !kinds.contains($0) }.map(\.sample) + ["null"] }

  init(_ shape: ConfigurationShape, _ path: String) {
    switch shape {
    case .boolean: (good, kinds) = (["true", "false"], [.boolean])
    case .integer(let range):
      good = ["\(range.lowerBound)", "\(range.upperBound)"]
      bad = ["\(range.lowerBound - 1)", "\(range.upperBound + 1)"]
      kinds = [.integer]
    case .number(let range):
      good = ["\(range.lowerBound)", "\(range.upperBound)"]
      bad = ["\(range.lowerBound - 0.001)", "\(range.upperBound + 0.001)"]
      kinds = [.integer, .float]
    case .duration(let range):
      let (least, most) = (range.lowerBound, range.upperBound)
      good = ["\(most)s", "\(most)", ConfigurationDuration.text(seconds: most)]
      bad = [
        "\(most + 0.001)s", "\(most + 0.001)", "\(most / 60 + 1)m", "\(Int(most) + 1)s5ms", "soon", "1s1m", "1 s",
        "-1s",
      ]
      if least >= 0.001 {
        good += ["\(least)s", "\(least)", ConfigurationDuration.text(seconds: least)]
        bad += ["0", "\(least * 999)ms"]
      }
      kinds = [.integer, .float, .text]
    case .words(let words):
      good = words
      bad = ["some-text"]
      kinds = [.text]
      if words.contains(where: { Double($0) != nil }) { kinds = [.text, .integer, .float] }
    case .text:
      let name = KeySamples.texts.filter { path == $0.key || path.hasSuffix(".\($0.key)") }
      good = [name.max { $0.key.count < $1.key.count }?.value ?? "a"]
      kinds = [.text]
    case .list(let element, let counts):
      let one = Values(element, path)
      good = counts.lowerBound > 1 ? ["[{name: one}, {name: two}]"] : one.good.map { "[\($0)]" }
      bad = (one.bad + one.wrongKinds).map { "[\($0)]" }
      if counts.lowerBound > 0 { bad.append("[]") }
      if counts.upperBound <= 100 {
        bad.append("[\(Array(repeating: one.good[0], count: counts.upperBound + 1).joined(separator: ", "))]")
      }
      kinds = [.list]
    case .entries(let element, let counts):
      let one = Values(element, path)
      good = one.good.map { "{a: \($0)}" }
      bad = (one.bad + one.wrongKinds).map { "{a: \($0)}" } + (counts.lowerBound > 0 ? ["{}"] : [])
      kinds = [.mapping]
    case .mapping(let outline): (good, kinds) = ([Self.sample(outline(), path)], [.mapping])
    case .either(let shapes):
      let all = shapes.map { Values($0, path) }
      good = all.flatMap(\.good)
      let good = Set(good)
      bad = all.flatMap(\.bad).filter { !good.contains($0) }
      kinds = Set(all.flatMap(\.kinds))
    case .named(_, let shape): self = Values(shape, path)
    }
  }

  /// A mapping with what has to be there.
  private static func sample(_ outline: ConfigurationOutline, _ path: String) -> String {
    var names = outline.keys.filter(\.isRequired).map(\.name)
    for rule in outline.rules {
      switch rule {
      case .some(let keys, _), .one(let keys, _): if Set(names).isDisjoint(with: keys) { names.append(keys[0]) }
      case .missing(let key, _, _): names.append(key)
      default: break
      }
    }
    let keys = names.compactMap { name in outline.keys.first { $0.name == name } }
    return "{\(keys.map { "\($0.name): \(Values($0.shape, "\(path).\($0.name)").good[0])" }.joined(separator: ", "))}"
  }
}

extension ConfigurationShape {
  /// The mappings that a value may hold, each with the text around one.
  fileprivate func mappings(_ path: String) -> [(ConfigurationOutline, (String) -> String)] {
    switch self {
    case .mapping(let outline): [(outline(), { $0 })]
    case .list(let element, let counts):
      element.mappings(path).map { outline, around in
        (outline, { counts.lowerBound > 1 ? "[\(around($0)), {name: two}]" : "[\(around($0))]" })
      }
    case .entries(let element, _): element.mappings(path).map { outline, around in (outline, { "{a: \(around($0))}" }) }
    case .either(let shapes): shapes.flatMap { $0.mappings(path) }
    case .named(_, let shape): shape.mappings(path)
    case .boolean, .integer, .number, .duration, .words, .text: []
    }
  }
}
