import Testing
import WeirCurl

@testable import WeirGateway

@Suite struct SchedulingHintsTests {
  typealias Fields = [(String, String)]

  @Test(
    arguments: [
      ("1H", 3_600), ("2M", 120), ("3S", 3), ("250m", 0.25), ("1500u", 0.0015), ("100n", 1e-7),
      ("99999999H", 359_999_996_400), ("00000001S", 1),
      // Nine digits are too many, and the number must be above zero.
      ("123456789S", nil), ("0S", nil), ("00000000n", nil),
      ("", nil), ("S", nil), ("5", nil), ("5s", nil), ("5h", nil), ("5 S", nil), (" 5S", nil), ("-1S", nil),
      ("+1S", nil), ("1.5S", nil), ("1SS", nil), ("٢S", nil), ("1S, 2S", nil),
    ] as [(String, Double?)])
  func grpcTimeouts(value: String, seconds: Double?) {
    expect(Array(value.utf8).withUnsafeBytes { SchedulingHints.grpcTimeout($0) }, seconds)
  }

  @Test(
    arguments: [
      ("1", 0.001), ("2500", 2.5), ("999999999999", 999_999_999.999),
      ("1000000000000", nil), ("0", nil), ("", nil), ("-1", nil), ("1.5", nil), ("1 ", nil), ("1s", nil), ("1,2", nil),
    ] as [(String, Double?)])
  func envoyTimeouts(value: String, seconds: Double?) {
    expect(Array(value.utf8).withUnsafeBytes { SchedulingHints.envoyTimeout($0) }, seconds)
  }

  @Test(
    arguments: [
      ([], 3, nil),
      ([("Priority", "u=1")], 1, nil), ([("priority", "u=1"), ("PRIORITY", "i")], 1, nil),
      ([("Priority", "u=1"), ("Priority", "u=5, i")], 5, nil), ([("Priority", "u=1"), ("Priority", "u=9")], 3, nil),
      ([("grpc-timeout", "2S")], 3, 2), ([("Grpc-Timeout", "2S"), ("grpc-timeout", "500m")], 3, 0.5),
      ([("X-Envoy-Expected-Rq-Timeout-Ms", "1500"), ("grpc-timeout", "2S")], 3, 1.5),
      ([("x-envoy-expected-rq-timeout-ms", "2500"), ("grpc-timeout", "2S")], 3, 2),
      ([("x-envoy-expected-rq-timeout-ms", "0"), ("grpc-timeout", "x")], 3, nil),
      // A field that `Connection` names is not read.
      ([("Connection", "priority, grpc-timeout"), ("Priority", "u=0"), ("grpc-timeout", "1S")], 3, nil),
      ([("grpc_timeout", "1S")], 3, nil),
    ] as [(Fields, Int, Double?)])
  func readsTheFields(fields: Fields, urgency: Int, timeout: Double?) throws {
    #expect(try forward(fields).hints == SchedulingHints(urgency: urgency, timeout: timeout))
  }

  private static let announcements: Fields = [
    ("priority", "u=0;x, garbage,,"), ("Priority", "u=7, i"), ("grpc-timeout", "0S"), ("Grpc-Timeout", "10S"),
    ("X-Envoy-Expected-Rq-Timeout-Ms", "1e9"),
  ]

  @Test func theFieldsArePassedOnAsTheyCame() throws {
    let sent = try forward(Self.announcements).sent
    #expect(sent.filter(Self.isAnnouncement).map { "\($0): \($1)" } == Self.announcements.map { "\($0): \($1)" })
  }

  @Test func aRoutesRulesAboutTheFieldsWin() throws {
    var rules = HeaderRules()
    rules.set = [HeaderRule(name: "Priority", value: "u=6")]
    rules.remove = ["grpc-timeout", "x-envoy-expected-rq-timeout-ms"]
    let (sent, hints) = try forward(Self.announcements, rules)
    #expect(sent.filter(Self.isAnnouncement).map { "\($0): \($1)" } == ["Priority: u=6"])
    // The gateway itself reads what the caller sent.
    #expect(hints == SchedulingHints(urgency: 7, timeout: 10))
  }

  private static func isAnnouncement(_ name: String, _ value: String) -> Bool {
    ["priority", "grpc-timeout", "x-envoy-expected-rq-timeout-ms"].contains(name.lowercased())
  }

  private struct NotForwarded: Error {}

  private func forward(
    _ fields: Fields, _ rules: HeaderRules = HeaderRules()
  ) throws -> (sent: Fields, hints: SchedulingHints) {
    let upstream = try Upstream(parsing: "http://up:81")
    var route = Route(name: "r", upstream: upstream)
    route.headers = rules
    let policy = HeaderPolicy(route: route, upstream: upstream, pseudonym: "weir")
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    let verdict = policy.request(
      IncomingFields(fields: fields), from: HeaderPolicy.Client(address: empty, authority: empty))
    guard case .forward(let list, _, let hints) = verdict else { throw NotForwarded() }
    return (list.pairs.map { ($0.name, $0.value) }, hints)
  }

  private func expect(_ seconds: Double?, _ expected: Double?) {
    guard let seconds, let expected else {
      #expect(seconds == expected)
      return
    }
    #expect(abs(seconds - expected) <= 1e-12 * expected)
  }
}
