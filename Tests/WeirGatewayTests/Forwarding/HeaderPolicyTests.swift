import Testing
import WeirCurl
import WeirHTTP
import WeirServer

@testable import WeirGateway

@Suite struct HeaderPolicyTests {
  typealias Fields = [(String, String)]

  /// What the gateway itself adds to a request of 10.0.0.9 for `front.example`.
  static let own: Fields = [
    ("Via", "1.1 weir"), ("X-Forwarded-For", "10.0.0.9"), ("X-Forwarded-Host", "front.example"),
    ("X-Forwarded-Proto", "http"),
  ]

  @Test(
    arguments: [
      (
        [("Host", "front.example"), ("Accept", "a"), ("accept", "b"), ("X-Empty", "")],
        [("Accept", "a"), ("accept", "b"), ("X-Empty", "")]
      ),
      ([("Connection", "keep-alive"), ("Keep-Alive", "timeout=5"), ("Proxy-Connection", "x"), ("TE", "trailers")], []),
      ([("Transfer-Encoding", "chunked"), ("Upgrade", "h2c"), ("HTTP2-Settings", "x"), ("Trailer", "X")], []),
      (
        [
          ("Content-Length", "5"), ("Expect", "100-continue"), ("Proxy-Authorization", "b"),
          ("Proxy-Authenticate", "c"),
        ],
        []
      ),
      ([("X-A", "1"), ("CONNECTION", " x-a ,,\tX-B , close"), ("x-b", "2"), ("X-C", "3")], [("X-C", "3")]),
      ([("Connection", "X-A"), ("Connection", "X-B"), ("X-B", "2"), ("X-A", "1")], []),
      ([("X-Forwarded-Host", "evil"), ("X-Forwarded-Proto", "https")], []),
      ([("Proxy-Foo", "1"), ("proxy-authentication-info", "2"), ("Proxyfoo", "3")], [("Proxyfoo", "3")]),
      // For upstreams that hand fields on as environment variables.
      (
        [
          ("X_Forwarded_For", "1"), ("x-forwarded_proto", "https"), ("Transfer_Encoding", "chunked"),
          ("Proxy_Foo", "2"),
          ("X_Other", "3"), ("Content_Length", "9"),
        ], [("X_Other", "3")]
      ),
      ([("Max-Forwards", "0")], [("Max-Forwards", "0")]),
      ([("Authorization", "secret"), ("Cookie", "a=b")], [("Authorization", "secret"), ("Cookie", "a=b")]),
    ] as [(Fields, Fields)])
  func forwardsWhatIsEndToEnd(fields: Fields, expected: Fields) throws {
    #expect(try same(forwarded(fields), [("Host", "up:81")] + expected + Self.own))
  }

  /// All octets of a token that are no letters and digits, but for the hyphen.
  static let oddOctets = "!#$%&'*+.^_`|~".map(String.init)

  /// CGI programs take these names for those that have a meaning here (RFC 3875 §4.1.18).
  @Test(arguments: oddOctets)
  func namesThatReadAlikeEndHere(octet: String) throws {
    let meant = [
      "X-Forwarded-For", "X-Forwarded-Host", "x-forwarded-proto", "Content-Length", "Transfer-Encoding", "Keep-Alive",
      "HTTP2-Settings", "Max-Forwards", "X-Retry-Attempt", "X-Envoy-Attempt-Count", "X-Envoy-Expected-Rq-Timeout-Ms",
      "grpc-timeout", "Proxy-Authorization", "Proxy-Connection", "Proxy-Foo",
    ]
    func odd(_ name: String) -> String { name.replacing("-", with: octet) }
    let own = odd("X-Own-Field")
    let fields = meant.map { (odd($0), "6") } + [(odd("X-Forwarded-For").replacing("d\(octet)F", with: "d-F"), "6")]
    #expect(
      try same(forwarded(fields + [(own, "kept")]), [("Host", "up:81"), (own, "kept")] + Self.own))

    var rules = HeaderRules()
    rules.set = [HeaderRule(name: "X-New-Field", value: "1")]
    rules.remove = ["X-Old-Field"]
    let ruled: Fields = [(odd("X-New-Field"), "6"), (odd("x-old-field"), "6"), ("X-Old-Field", "6"), (own, "kept")]
    #expect(
      try same(
        forwarded(ruled, rules: rules),
        [("Host", "up:81"), (own, "kept")] + Self.own + [("X-New-Field", "1")]))

    // By whichever spelling Connection names a field.
    let hop: Fields = [("Connection", odd("X-Hop-A, X-Hop-B")), ("X-Hop-A", "6"), (odd("X-Hop-B"), "6")]
    #expect(try same(forwarded(hop), [("Host", "up:81")] + Self.own))
    #expect(try same(forwarded([("Connection", odd("X-Forwarded-For"))]), [("Host", "up:81")] + Self.own))
  }

  /// A trusted proxy's own fields pass, but not what it may have left of its clients'.
  @Test(arguments: oddOctets)
  func trustedProxiesFieldsAreSpelledPlainly(octet: String) {
    for name in ["X-Forwarded-For", "X-Forwarded-Prefix", "Forwarded"] {
      let odd = name.replacing("-", with: octet)
      odd.withOctets { #expect(ForwardingTrust.trusted.drops($0) == (odd != name)) }
      odd.withOctets { #expect(ForwardingTrust.foreign.drops($0)) }
      odd.withOctets { #expect(!ForwardingTrust.unstated.drops($0)) }
    }
  }

  /// Fields by which the configuration decides are what the upstream goes by, too.
  @Test(arguments: oddOctets)
  func believedFieldsAreSpelledPlainly(octet: String) throws {
    let text = """
      upstreams:
        - {name: u, endpoints: ["a:80"], balance: {policy: consistentHash, key: header X-Shard-Id}}
        - {name: v, endpoints: ["b:80"]}
      routes:
        - {name: a, match: {headers: {X-Internal-Call: {present: true}}}, upstream: u}
        - name: b
          upstream: [{name: u}, {name: v}]
          splitBy: header X-Split-Id
          rateLimits: [{name: r, rate: 1/s, key: header X-Api-Key}]
        - {name: c, match: {path: /c, headers: {Cookie: {present: true}}}, upstream: u}
      """
    let believed = try Configuration(parsing: Array(text.utf8), file: "f").believedFields
    let names = believed.map { String(decoding: $0, as: UTF8.self) }
    #expect(names == ["x-api-key", "x-internal-call", "x-shard-id", "x-split-id"])
    let upstream = try Upstream(parsing: "http://up:81")
    let policy = HeaderPolicy(
      route: Route(name: "r", upstream: upstream), upstream: upstream, pseudonym: "weir", believed: believed)
    let plain: Fields = [("X-Api-Key", "1"), ("x-internal-call", "2"), ("X-SHARD-ID", "3"), ("X-Split-Id", "4")]
    let fields = plain + names.map { ($0.replacing("-", with: octet), "6") }
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    let client = HeaderPolicy.Client(address: none, authority: none)
    guard case .forward(let block, _, _) = policy.request(list(fields), from: client) else {
      Issue.record("not forwarded")
      return
    }
    #expect(block.pairs.map(\.value).filter { $0 < "7" && $0.count == 1 } == ["1", "2", "3", "4"])
  }

  @Test(arguments: oddOctets)
  func responseRulesGoByReading(octet: String) {
    var route = Route(name: "r", action: .respond(RouteResponse(status: 200)))
    route.responseHeaders.set = [HeaderRule(name: "X-Cache-State", value: "none")]
    route.responseHeaders.remove = ["X-Powered-By"]
    let rules = ResponseRules(route)
    for (name, isDropped) in [("X-Cache-State", true), ("x-powered-by", true), ("X-Powered-Bx", false)] {
      name.replacing("-", with: octet).withOctets { #expect(rules.drops($0) == isDropped) }
    }
  }

  /// The sender decides on the number of both.
  @Test func manyConnectionOptionsAndFieldsAreCheap() throws {
    let options = (0..<20_000).map { "X-\($0)" }.joined(separator: ",")
    let fields: Fields = [("Connection", options)] + (0..<20_000).map { ("x-\($0 * 2)", "1") }
    let began = ContinuousClock.now
    let kept = try forwarded(fields).count { $0.0.hasPrefix("x-") }
    #expect(kept == 10_000)
    #expect(ContinuousClock.now - began < .seconds(15))
  }

  @Test(
    arguments: [
      ([("Via", "1.0 fred, 1.1 p"), ("Via", "1.1 q")], "Via", "1.0 fred, 1.1 p, 1.1 q, 1.1 weir"),
      ([("Via", "1.1 weirdo")], "Via", "1.1 weirdo, 1.1 weir"),
      ([("X-Forwarded-For", "1.1.1.1, 2.2.2.2")], "X-Forwarded-For", "1.1.1.1, 2.2.2.2, 10.0.0.9"),
      ([("X-Forwarded-For", "")], "X-Forwarded-For", "10.0.0.9"),
      ([("X-Forwarded-For", "1.1.1.1"), ("Connection", "x-forwarded-for")], "X-Forwarded-For", "1.1.1.1, 10.0.0.9"),
      (
        [("Forwarded", "for=a"), ("Forwarded", "for=b")], "Forwarded",
        "for=a, for=b, for=10.0.0.9;host=front.example;proto=http"
      ),
      (
        [("Forwarded", "for=\"a"), ("Forwarded", "for=b"), ("Forwarded", "for=\"c\\\"")], "Forwarded",
        "for=b, for=10.0.0.9;host=front.example;proto=http"
      ),
      (
        [("Forwarded", "for=\"a\\\",b\"")], "Forwarded",
        "for=\"a\\\",b\", for=10.0.0.9;host=front.example;proto=http"
      ),
    ] as [(Fields, String, String)])
  func extendsChains(fields: Fields, name: String, expected: String) throws {
    #expect(try forwarded(fields).filter { $0.0 == name }.map(\.1) == [expected])
  }

  @Test(
    arguments: [
      ("2001:db8::1", "h:8080", "for=\"[2001:db8::1]\";host=\"h:8080\";proto=http", "2001:db8::1"),
      ("", "h", "for=unknown;host=h;proto=http", nil),
      ("10.0.0.1", "", "for=10.0.0.1;proto=http", "10.0.0.1"),
      ("10.0.0.1", "a\"b", "for=10.0.0.1;proto=http", "10.0.0.1"),
      ("10.0.0.1", "[::1]", "for=10.0.0.1;host=\"[::1]\";proto=http", "10.0.0.1"),
    ] as [(String, String, String, String?)])
  func tellsWhoAsked(address: String, authority: String, forwarded: String, forwardedFor: String?) throws {
    let fields = try self.forwarded([("Forwarded", "for=x")], from: address, authority, isHTTP10: true)
    #expect(fields.first { $0.0 == "Forwarded" }?.1 == "for=x, " + forwarded)
    #expect(fields.first { $0.0 == "X-Forwarded-For" }?.1 == forwardedFor)
    #expect(fields.first { $0.0 == "X-Forwarded-Host" }?.1 == (authority.isEmpty ? nil : authority))
    #expect(fields.first { $0.0 == "Via" }?.1 == "1.0 weir")
  }

  @Test(
    arguments: [
      ([], nil, 0), ([("X-Retry-Attempt", "0")], nil, 0), ([("x-retry-attempt", "1")], "1", 1),
      ([("X-Retry-Attempt", "2")], "2", 2), ([("X-Retry-Attempt", "002")], "2", 2),
      ([("X-Retry-Attempt", "1000")], "999", 999),
      ([("X-Retry-Attempt", String(repeating: "9", count: 5000))], "999", 999),
      ([("X-Retry-Attempt", "-1")], nil, 0), ([("X-Retry-Attempt", "+1")], nil, 0),
      ([("X-Retry-Attempt", "1.5")], nil, 0),
      ([("X-Retry-Attempt", "0x2")], nil, 0), ([("X-Retry-Attempt", "٢")], nil, 0), ([("X-Retry-Attempt", "")], nil, 0),
      ([("X-Retry-Attempt", "1 2")], nil, 0), ([("X-Retry-Attempt", "\"2\"")], nil, 0),
      ([("X-Retry-Attempt", "1, 3 ,x, 2")], "3", 3), ([("X-Retry-Attempt", "4"), ("X-Retry-Attempt", "5")], "5", 5),
      ([("X_Retry_Attempt", "7")], nil, 0), ([("Connection", "X-Retry-Attempt"), ("X-Retry-Attempt", "7")], nil, 0),
    ] as [(Fields, String?, Int)])
  func saysHowOftenOthersTried(fields: Fields, announced: String?, retries: Int) throws {
    guard case .forward(let list, let count, _) = try verdict(fields) else {
      Issue.record("not forwarded")
      return
    }
    #expect(
      list.pairs.filter { $0.name.lowercased() == "x-retry-attempt" }.map(\.value) == [announced].compactMap { $0 })
    #expect(!list.pairs.contains { $0.name == "X_Retry_Attempt" })
    #expect(count == retries)
  }

  @Test(
    arguments: [
      ("1", nil, nil), ("2", nil, "1"), ("3", "1", "2"), ("2", "5", "5"), ("0", nil, nil), ("-5", nil, nil),
      ("99999999999999999999", nil, "998"), ("2, 4", nil, "3"), ("two", nil, nil), ("1", "1", "1"),
    ] as [(String, String?, String?)])
  func readsEnvoysCount(value: String, own: String?, announced: String?) throws {
    let fields = [("x-envoy-attempt-count", value)] + (own.map { [("X-Retry-Attempt", $0)] } ?? [])
    let sent = try forwarded(fields)
    #expect(sent.first { $0.0 == "X-Retry-Attempt" }?.1 == announced)
    #expect(sent.first { $0.0 == "x-envoy-attempt-count" }?.1 == value)
  }

  @Test func aRouteMayKeepTheAttemptToItself() throws {
    var rules = HeaderRules()
    rules.remove = ["x-retry-attempt"]
    guard case .forward(let list, let retries, _) = try verdict([("X-Retry-Attempt", "2")], rules: rules) else {
      Issue.record("not forwarded")
      return
    }
    #expect(!list.pairs.contains { $0.name == "X-Retry-Attempt" })
    #expect(retries == 2)
    #expect(try !policy(rules).announcesRetries)
    #expect(try policy().announcesRetries)
  }

  @Test func theRoutesRulesWin() throws {
    var rules = HeaderRules()
    rules.set = [
      HeaderRule(name: "Host", value: "public"), HeaderRule(name: "X-New", value: "1"),
      HeaderRule(name: "accept", value: "mine"), HeaderRule(name: "X-Forwarded-Proto", value: "https"),
    ]
    rules.remove = ["Cookie", "Forwarded", "x-forwarded-for", "X-Forwarded-Host", "via"]
    let fields = try forwarded(
      [("Cookie", "c"), ("Accept", "theirs"), ("X-Old", "2"), ("X_New", "theirs"), ("x_new", "theirs")], rules: rules)
    #expect(
      same(
        fields,
        [("X-Old", "2"), ("Host", "public"), ("X-New", "1"), ("accept", "mine"), ("X-Forwarded-Proto", "https")]))
  }

  @Test(arguments: [
    ("1.1 weir", true), ("1.1 a, 1.0 weir (comment)", true), ("1.1  weir", true), ("1.1 weir:80", false),
    ("weir", false), ("1.1 Weir", false), ("", false),
  ])
  func seesItsOwnTrace(via: String, isLoop: Bool) throws {
    let verdict = try verdict([("Via", via)])
    if case .loop = verdict { #expect(isLoop) } else { #expect(!isLoop) }
  }

  @Test(
    arguments: [
      ("0", nil), ("1", "0"), ("10", "9"), ("x", "x"), ("-1", "-1"), ("", ""), ("9999999999", "9999999999"),
    ] as [(String, String?)])
  func countsForwardsOfTraceAndOptions(value: String, expected: String?) throws {
    switch try verdict([("Max-Forwards", value)], countsForwards: true) {
    case .forward(let fields, _, _): #expect(fields.pairs.first { $0.name == "Max-Forwards" }?.value == expected)
    case .finalRecipient: #expect(expected == nil)
    case .loop: Issue.record("no loop")
    }
  }

  @Test(
    arguments: [
      (
        [("Content-Type", "a"), ("Set-Cookie", "1"), ("Set-Cookie", "2")],
        [("Content-Type", "a"), ("Set-Cookie", "1"), ("Set-Cookie", "2"), ("Via", "1.1 weir")]
      ),
      (
        [("Connection", "close, X-Hop"), ("X-Hop", "1"), ("Transfer-Encoding", "chunked"), ("Content-Length", "3")],
        [("Via", "1.1 weir")]
      ),
      (
        [("Via", "1.1 cache"), ("Age", "5"), ("Trailer", "X"), ("Keep-Alive", "x"), ("Proxy-Authenticate", "y")],
        [("Age", "5"), ("Via", "1.1 cache, 1.1 weir")]
      ),
      (
        [("Forwarded", "x"), ("Host", "h"), ("X-Forwarded-Host", "z")],
        [("Forwarded", "x"), ("Host", "h"), ("X-Forwarded-Host", "z"), ("Via", "1.1 weir")]
      ),
    ] as [(Fields, Fields)])
  func forwardsResponses(fields: Fields, expected: Fields) throws {
    var result = WeirServer.ResponseFields()
    _ = try policy().response(list(fields), isHTTP10: false, to: &result)
    let lines = String(decoding: result.bytes, as: UTF8.self).split(separator: "\r\n")
    let emitted = lines.map { line in
      let parts = line.split(separator: ": ", maxSplits: 1)
      return (String(parts[0]), String(parts[1]))
    }
    #expect(same(emitted, expected))
  }

  private func policy(_ rules: HeaderRules = HeaderRules()) throws -> HeaderPolicy {
    let upstream = try Upstream(parsing: "http://up:81")
    var route = Route(name: "r", upstream: upstream)
    route.headers = rules
    return HeaderPolicy(route: route, upstream: upstream, pseudonym: "weir")
  }

  private func list(_ fields: Fields) -> IncomingFields { IncomingFields(fields: fields) }

  private func verdict(
    _ fields: Fields, from address: String = "10.0.0.9", _ authority: String = "front.example", isHTTP10: Bool = false,
    countsForwards: Bool = false, rules: HeaderRules = HeaderRules()
  ) throws -> HeaderPolicy.Verdict {
    let policy = try policy(rules)
    return Array(address.utf8).withUnsafeBytes { address in
      Array(authority.utf8).withUnsafeBytes { authority in
        policy.request(
          list(fields),
          from: HeaderPolicy.Client(
            address: address, authority: authority, isHTTP10: isHTTP10, countsForwards: countsForwards))
      }
    }
  }

  private func forwarded(
    _ fields: Fields, from address: String = "10.0.0.9", _ authority: String = "front.example", isHTTP10: Bool = false,
    rules: HeaderRules = HeaderRules()
  ) throws -> Fields {
    guard
      case .forward(let list, _, _) = try verdict(fields, from: address, authority, isHTTP10: isHTTP10, rules: rules)
    else {
      Issue.record("not forwarded")
      return []
    }
    return list.pairs.map { ($0.name, $0.value) }
  }

  private func same(_ left: Fields, _ right: Fields) -> Bool {
    let isSame = left.elementsEqual(right, by: ==)
    if !isSame { Issue.record("\(left)\nis not\n\(right)") }
    return isSame
  }
}

/// Fields as they come in, framing included.
struct IncomingFields: FieldSource {
  let fields: [(String, String)]
  let mayNameFields = true

  func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    for (name, value) in fields {
      Array(name.utf8).withUnsafeBytes { name in Array(value.utf8).withUnsafeBytes { body(name, $0) } }
    }
  }
}

extension HeaderBlock {
  var pairs: [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    forEach { pairs.append((String(decoding: $0, as: UTF8.self), String(decoding: $1, as: UTF8.self))) }
    return pairs
  }
}
