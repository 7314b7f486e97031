import Testing
import WeirCurl

@testable import WeirHTTP1

/// The origins in use.
@Suite struct OriginTableTests {
  private static func find(
    _ table: inout OriginTable, _ url: String, trust: TransferTrust? = nil, addresses: AddressPolicy? = nil
  ) -> RequestPlace? {
    var spec = TransferSpec(url: url, trust: trust)
    spec.addressPolicy = addresses
    return table.find(spec)
  }

  @Test func equalDemandsAreOneOrigin() throws {
    var table = OriginTable(proxies: .none)
    let first = try #require(Self.find(&table, "http://a.example/b"))
    for url in [
      "http://a.example", "http://a.example/", "http://a.example:80/c", "http://a.example?d", "http://a.example#e",
    ] {
      #expect(Self.find(&table, url)?.origin === first.origin, "\(url)")
    }
    #expect(table.all.count == 1)
    #expect(!first.isSecure)
  }

  @Test func otherDemandsAreOtherOrigins() throws {
    var table = OriginTable(proxies: .none)
    let trusts = [nil, TransferTrust(TLSOptions(), serverName: "one"), TransferTrust(TLSOptions(), serverName: "two")]
    let policies: [AddressPolicy?] = [nil, AddressPolicy(otherwise: .publicOnly)]
    var numbers: Set<Int> = []
    for _ in 0..<2 {
      for url in [
        "http://a.example/", "https://a.example/", "http://b.example/", "http://a.example:81/", "https://a.example:80/",
        "http://a.example.com/", "http://a.exampl/", "http://a.example:8/",
      ] {
        for trust in trusts {
          for policy in policies {
            numbers.insert(try #require(Self.find(&table, url, trust: trust, addresses: policy)).origin.number)
          }
        }
      }
    }
    #expect(numbers.count == 8 * 3 * 2)
    #expect(table.all.count == numbers.count)
    // Equal rules in another object are the same demands.
    let again = TransferTrust(TLSOptions(), serverName: "one")
    #expect(
      Self.find(&table, "https://a.example/", trust: again)?.origin
        === Self.find(&table, "https://a.example/", trust: trusts[1])?.origin)
    #expect(table.all.count == numbers.count)
  }

  /// A connection that stands is the same whatever time it was given to be opened in.
  @Test func otherLifetimesAreOtherOrigins() throws {
    var table = OriginTable(proxies: .none)
    var numbers: [String: Int] = [:]
    for _ in 0..<2 {
      for (idle, age) in [(nil, nil), (1, nil), (2, nil), (nil, 1), (1, 1)] as [(Double?, Double?)] {
        for connect in [nil, 1, 2] as [Double?] {
          for version in [nil, HTTPVersionChoice.http1_1] {
            var spec = TransferSpec(url: "http://a.example/")
            spec.rules = TransferRules(
              connectTimeout: connect, idleTimeout: idle, maximumAge: age, httpVersion: version)
            let place = table.find(spec)
            let number = try #require(place).origin.number
            let rules = "\([idle, age, connect]) \(version, default: "any")"
            #expect(numbers.updateValue(number, forKey: rules) ?? number == number)
          }
        }
      }
    }
    #expect(numbers.count == 5 * 3 * 2)
    #expect(Set(numbers.values).count == 5)
    #expect(Self.find(&table, "http://a.example/")?.origin.number == numbers["[nil, nil, nil] any"])
  }

  @Test(arguments: [
    ("http://a.example/", "a.example"), ("http://a.example:80/", "a.example"), ("https://a.example:443/", "a.example"),
    ("http://a.example:443/", "a.example:443"), ("https://a.example:80/", "a.example:80"),
    ("http://[::1]/", "[::1]"), ("http://[::1]:8080/", "[::1]:8080"),
  ])
  func theHostField(url: String, field: String) throws {
    var table = OriginTable(proxies: .none)
    let place = try #require(Self.find(&table, url))
    #expect(String(decoding: place.origin.hostField, as: UTF8.self) == field)
  }

  /// The second request finds its origin by the spelling of the first one's URL, and its target must be the same.
  @Test func targetsByTheSpellingOfTheLastURL() throws {
    for (end, target) in [
      ("", "/"), ("/", "/"), ("?q", "/?q"), ("/b/c?d#e", "/b/c?d"), ("#e", "/"), ("?#e", "/?"), ("//b", "//b"),
    ] {
      for first in ["http://a.example:81/", "http://b.example/"] {
        var table = OriginTable(proxies: .none)
        _ = Self.find(&table, first)
        let place = try #require(Self.find(&table, "http://a.example:81\(end)"))
        #expect(place.target == target)
        #expect(place.origin.key.port == 81)
      }
    }
  }

  @Test(arguments: [
    "http://a.example:8/", "http://a.example:811/", "http://a.example:81a/", "http://a.example:81@b/",
    "http://a.example:81.b/",
    "http://a.example:81:2/", "http://a.example:81\u{301}/", "http://a.example:81/ä", "http://a.example:81/ b",
    "http://a.example:81\\b", "https://a.example:81/",
  ])
  func urlsThatOnlyBeginLikeTheLastOne(url: String) throws {
    var table = OriginTable(proxies: .none)
    let last = try #require(Self.find(&table, "http://a.example:81/"))
    let place = Self.find(&table, url)
    #expect(place?.origin !== last.origin)
    var other = OriginTable(proxies: .none)
    #expect((place == nil) == (Self.find(&other, url) == nil))
  }

  /// The spelling of the last URL says nothing of the demands.
  @Test func theLastSpellingWithOtherDemands() throws {
    var table = OriginTable(proxies: .none)
    let trust = TransferTrust(TLSOptions(), serverName: "other")
    let first = try #require(Self.find(&table, "https://a.example/"))
    let second = try #require(Self.find(&table, "https://a.example/", trust: trust))
    #expect(first.origin !== second.origin)
    #expect(Self.find(&table, "https://a.example/")?.origin === first.origin)
    #expect(Self.find(&table, "https://a.example/", trust: trust)?.origin === second.origin)
  }

  @Test func originsOutOfUseMakePlace() throws {
    var table = OriginTable(proxies: .none)
    let used = try #require(Self.find(&table, "http://used.example/")).origin
    used.uses += 1
    let unused = try #require(Self.find(&table, "http://unused.example/")).origin
    for index in 2..<1024 { _ = Self.find(&table, "http://h\(index).example/") }
    #expect(table.all.count == 1024)
    #expect(Self.find(&table, "http://unused.example/")?.origin === unused)
    let next = try #require(Self.find(&table, "http://next.example/")).origin
    #expect(table.all.count == 2)
    #expect(next.number < 1024 && next.number != used.number)
    #expect(Self.find(&table, "http://used.example/")?.origin === used)
    #expect(Self.find(&table, "http://unused.example/")?.origin !== unused)
    // Numbers are given again, and never to two.
    for index in 0..<5000 { _ = Self.find(&table, "http://i\(index).example/") }
    #expect(table.all.count <= 1024)
    #expect(Set(table.all.map(\.number)).count == table.all.count)
    #expect(table.all.allSatisfy { $0.number < 1024 })
  }

  /// As many origins as are in use are kept, even beyond the limit, which is then twice as many as were left.
  @Test func originsInUseStay() throws {
    var table = OriginTable(proxies: .none)
    for index in 0..<1100 { try #require(Self.find(&table, "http://h\(index).example/")).origin.uses += 1 }
    #expect(table.all.count == 1100)
    #expect(Set(table.all.map(\.number)).count == 1100)
    for origin in table.all { origin.uses -= 1 }
    for index in 1100..<2048 { _ = Self.find(&table, "http://h\(index).example/") }
    #expect(table.all.count == 2048)
    _ = Self.find(&table, "http://next.example/")
    #expect(table.all.count == 1)
  }

  // MARK: Proxies

  private static let proxy = TransferProxy(.http, host: "proxy.example", port: 3128)

  /// - Parameter proxy: In place of the table's.
  private static func find(
    _ table: inout OriginTable, _ url: String, through proxy: ProxyOptions?, needsTunnel: Bool = false
  ) -> RequestPlace? {
    var spec = TransferSpec(url: url)
    spec.rules = proxy.map { TransferRules(proxy: $0) }
    spec.opensTunnel = needsTunnel
    return table.find(spec)
  }

  @Test func plainOriginsBehindAProxyAreOne() throws {
    var table = OriginTable(proxies: .proxy(Self.proxy))
    var origins: [Origin] = []
    for _ in 0..<2 {
      for (url, target) in [
        ("http://a.example/b?c", "http://a.example/b?c"), ("http://b.example:81", "http://b.example:81/"),
      ] {
        let place = try #require(Self.find(&table, url))
        #expect(!place.isSecure && place.proxy === Self.proxy)
        #expect(place.forwarded?.target(place.target) ?? "" == target)
        origins.append(place.origin)
      }
    }
    let hosts = [nil, AddressPolicy(otherwise: .publicOnly)].map { policy in
      Self.find(&table, "http://c.example/", addresses: policy)?.origin
    }
    #expect((origins + hosts.compactMap(\.self)).allSatisfy { $0 === origins[0] } && hosts.count == 2)
    #expect(origins[0].key.host == "proxy.example" && origins[0].key.port == 3128 && table.all.count == 1)
  }

  @Test func tunnelsLeadToTheOriginItself() throws {
    var table = OriginTable(proxies: .proxy(Self.proxy))
    var numbers: Set<Int> = []
    for _ in 0..<2 {
      for url in ["https://a.example/", "https://b.example/"] {
        let place = try #require(Self.find(&table, url))
        #expect(place.isSecure && place.forwarded == nil && place.proxy === Self.proxy)
        numbers.insert(place.origin.number)
      }
      for needsTunnel in [true, false] {
        let place = try #require(Self.find(&table, "http://a.example/", through: nil, needsTunnel: needsTunnel))
        #expect((place.forwarded == nil) == needsTunnel)
        numbers.insert(place.origin.number)
      }
    }
    #expect(numbers.count == 4 && table.all.count == 4)
  }

  @Test(arguments: TransferProxy.Kind.allCases)
  func requestsThroughOtherProxiesHaveOtherOrigins(kind: TransferProxy.Kind) throws {
    var table = OriginTable(proxies: .none)
    let proxies = [1, 2].map { TransferProxy(kind, host: "proxy.example", port: $0) }
    let ways: [ProxyOptions?] = proxies.map { .proxy($0) } + [ProxyOptions.none, nil]
    for url in ["http://a.example/", "https://a.example/"] {
      var numbers: [Int] = []
      for way in ways + ways { numbers.append(try #require(Self.find(&table, url, through: way)).origin.number) }
      #expect(Array(numbers[..<4]) == Array(numbers[4...]))
      #expect(Set(numbers).count == 3 && numbers[2] == numbers[3], "no proxy is no proxy, whoever says so")
    }
    // Equal rules in another object are the same way.
    let again = ProxyOptions.proxy(TransferProxy(kind, host: "PROXY.example", port: 1))
    #expect(
      Self.find(&table, "https://a.example/", through: again)?.origin
        === Self.find(&table, "https://a.example/", through: ways[0])?.origin)
  }

  @Test func theEnvironmentDecidesForEachOrigin() throws {
    let variables = ["http_proxy": "proxy.example:1", "no_proxy": "near.example:81, 10.0.0.0/8"]
    var table = OriginTable(proxies: .named(by: ProxyEnvironment { variables[$0] }))
    for _ in 0..<2 {
      for (url, isForwarded) in [
        ("http://far.example/", true), ("http://near.example:81/", false), ("http://near.example/", true),
        ("http://10.1.1.1/", false), ("https://far.example/", false),
      ] {
        let place = try #require(Self.find(&table, url))
        #expect((place.proxy != nil) == isForwarded && (place.forwarded != nil) == isForwarded, "\(url)")
      }
    }
  }

  /// RFC 9112 §3.2.2, §3.2.4. The Host field is the origin's even if the proxy is asked for an endpoint.
  @Test(
    arguments: [
      ("a.example", 80, nil, "/b", "http://a.example/b", "a.example"),
      ("a.example", 81, nil, "/", "http://a.example:81/", "a.example:81"),
      ("[::1]", 80, nil, "/", "http://[::1]/", "[::1]"), ("a.example", 80, nil, "*", "http://a.example", "a.example"),
      ("a.example", 80, .host("10.0.0.1", port: 82), "/b", "http://10.0.0.1:82/b", "a.example"),
      ("a.example", 80, .host("::1", port: 80), "*", "http://[::1]", "a.example"),
    ] as [(String, Int, TransferEndpoint.Place?, String, String, String)])
  func absoluteTargets(
    host: String, port: Int, place: TransferEndpoint.Place?, target: String, absolute: String, field: String
  ) {
    let origin = ForwardedOrigin(host: host, port: port, endpoint: place.map(TransferEndpoint.init))
    #expect(origin.target(target[...]) == absolute)
    #expect(String(decoding: origin.hostField, as: UTF8.self) == field)
  }
}
