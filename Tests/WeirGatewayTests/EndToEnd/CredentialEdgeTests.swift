import Foundation
import Synchronization
import Testing
import Weir
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// Credentials at their edges: the last repair, repairs that are denied, fallbacks, readiness, and TLS to the token service.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct CredentialEdgeTests {
  private static let good = "weir_credential_state{credential=\"c\",state=\"good\"}"

  private static func waiters(_ name: String = "c") -> String {
    "weir_auth_refresh_waiters{interceptor=\"\(name)\"}"
  }

  private static func labels(of upstream: ScriptedServer) -> String {
    "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
  }

  // MARK: How often a request is repaired

  /// Each token that the slow request carries has been replaced when its refusal comes.
  @Test func aRequestIsRepairedTwiceAtMost() throws {
    let tokens = try TokenService()
    let gates = [Gate(), Gate(), Gate()]
    let asked = Atomic(0)
    let upstream = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            guard head.hasPrefix("GET /slow ") else { return [.send(tokens.answer(to: head))] }
            let number = asked.add(1, ordering: .relaxed).oldValue
            return [.wait(gates[min(number, gates.count - 1)]), .send(TokenService.unauthorized)]
          }
        ])))
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    #expect(eventually { rig.sample(Self.good) == 1 })
    let slow = try rig.client(), quick = try rig.client()
    slow.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    for (number, gate) in gates.enumerated() {
      #expect(eventually { asked.load(ordering: .relaxed) == number + 1 })
      tokens.revoke()
      quick.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(quick.response()?.text == "ok")
      gate.open()
    }
    let response = try #require(slow.response())
    #expect(response.status == 401)
    #expect(response.text == "who?")
    let heads = upstream.requestHeads.filter { $0.hasPrefix("GET /slow ") }
    #expect(heads.count == 3)
    for number in 0..<3 {
      let carriers = heads.filter { $0.contains(": Bearer token\(number + 1)\r\n") }
      #expect(carriers.count == 1)
      #expect(carriers.first?.contains("X-Retry-Attempt: \(number)\r\n") == (number > 0))
    }
    #expect(tokens.count == 4)
    // Those of the quick one are the others.
    #expect(eventually { rig.sample("weir_retries_total{\(Self.labels(of: upstream)),reason=\"401\"}") == 5 })
  }

  /// A token is the request's own if it waited for it, before it was sent or after a refusal.
  @Test(arguments: [true, false]) func aTokenOfItsOwnIsNotRepaired(waitsAtFirst: Bool) throws {
    let gate = Gate()
    let tokens = try TokenService(gate: gate), upstream = try tokens.upstream()
    tokens.areUseless = true
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    if !waitsAtFirst {
      gate.open()
      #expect(eventually { rig.sample(Self.good) == 1 })
    }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    if waitsAtFirst {
      #expect(eventually { rig.sample(Self.waiters()) == 1 })
      gate.open()
    }
    let response = try #require(client.response())
    #expect(response.status == 401)
    #expect(response.text == "who?")
    #expect(upstream.requestHeads.count == (waitsAtFirst ? 1 : 2))
    #expect(tokens.count == (waitsAtFirst ? 1 : 2))
  }

  // MARK: Repairs that are denied

  /// The reasons not to send a request again although there is another token.
  enum Obstacle: String, Sendable, CaseIterable {
    case breaker, pace

    /// The answers that put it up.
    var answer: String {
      switch self {
      case .breaker: "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
      case .pace: "HTTP/1.1 429 Slow Down\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"
      }
    }

    /// The number of them that is needed.
    var count: Int { self == .breaker ? 3 : 1 }
  }

  @Test(arguments: Obstacle.allCases) func aRepairMayBeDenied(by obstacle: Obstacle) throws {
    let isTold = try (0..<10).contains { _ in try denies(obstacle) }
    #expect(isTold, "each round took too long")
  }

  /// An open circuit lets a request through each half a second. Returns false if the round took longer, as it tells nothing
  /// then.
  private func denies(_ obstacle: Obstacle) throws -> Bool {
    let tokens = try TokenService(), gate = Gate()
    let upstream = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            guard head.hasPrefix("GET /slow ") else { return [.send(obstacle.answer)] }
            return [.wait(gate), .send(TokenService.unauthorized)]
          }
        ])))
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind()) { route in
      switch obstacle {
      case .breaker: route.circuitBreaker = CircuitBreaker(minimumRequests: obstacle.count)
      case .pace: route.pace = PaceSettings()
      }
    }
    #expect(eventually { rig.sample(Self.good) == 1 })
    let slow = try rig.client(), quick = try rig.client()
    slow.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { upstream.requestHeads.count == 1 })
    var last = MonotonicTime.now
    for _ in 0..<obstacle.count {
      last = .now
      quick.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try #require(quick.response())
    }
    let labels = Self.labels(of: upstream)
    if obstacle == .breaker {
      #expect(eventually { rig.sample("weir_circuit_state{\(labels),state=\"open\"}") == 1 })
    }
    gate.open()
    let response = try #require(slow.response())
    if obstacle == .breaker, MonotonicTime.now.seconds(since: last) >= 0.5 { return false }
    #expect(response.status == 401)
    #expect(response.text == "who?")
    #expect(upstream.requestHeads.count { $0.hasPrefix("GET /slow ") } == 1)
    #expect(tokens.count == 2, "the others have another token")
    #expect(
      eventually { rig.sample("weir_retries_denied_total{\(labels),reason=\"\(obstacle.rawValue)\"}") == 1 })
    return true
  }

  // MARK: Fallbacks

  /// A gateway with a route whose credential `own` is waited for at most so many seconds, and with a fallback whose
  /// credential is `theirs`.
  private static func rig(
    _ own: TokenService, wait: Double, _ theirs: TokenService, to upstream: ScriptedServer, or other: ScriptedServer
  ) throws -> GatewayRig {
    var route = try Route(to: upstream.port)
    route.credential = "own"
    var entry = NamedUpstream(
      Upstream(named: "u", scheme: .http), .listed([try EndpointSpec(parsing: "127.0.0.1:\(other.port)")]))
    entry.credential = "theirs"
    route.fallback = RouteFallback(action: .upstream(entry.target), statusCodes: [503])
    var configuration = Configuration(routes: [route], upstreams: [entry])
    configuration.credentials = [
      CredentialSettings(name: "own", kind: TokenService.kind(port: own.port, wait: wait)),
      CredentialSettings(name: "theirs", kind: theirs.kind()),
    ]
    return try GatewayRig(configuration)
  }

  /// The token of the route comes while the fallback waits for its own.
  @Test func aTokenThatComesLateIsNotTheFallbacks() throws {
    let gate = Gate(), theirGate = Gate()
    let own = try TokenService(gate: gate), theirs = try TokenService(gate: theirGate)
    theirs.answer = TokenService.grant("theirs")
    let upstream = try own.upstream(), other = try ScriptedServer(.answering(okResponse("other")))
    let rig = try Self.rig(own, wait: 0.2, theirs, to: upstream, or: other)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { rig.sample(Self.waiters("theirs")) == 1 })
    #expect(rig.sample(Self.waiters("own")) == 0)
    gate.open()
    #expect(eventually { rig.sample("weir_credential_state{credential=\"own\",state=\"good\"}") == 1 })
    #expect(rig.sample(Self.waiters("theirs")) == 1)
    theirGate.open()
    #expect(client.response()?.text == "other")
    #expect(other.authorizations == ["Bearer theirs"])
    #expect(upstream.connectionCount == 0)
  }

  /// The end of the wait and the failure that was waited for come in one turn of the loop, the end first.
  @Test func aFailureThatComesLateIsNotTheFallbacks() throws {
    let gate = Gate(), theirGate = Gate(), isHeld = Gate(), hold = Gate()
    let own = try TokenService(gate: gate), theirs = try TokenService(gate: theirGate)
    own.answer = TokenService.refusal
    theirs.answer = TokenService.grant("theirs")
    let upstream = try own.upstream(), other = try ScriptedServer(.answering(okResponse("other")))
    let rig = try Self.rig(own, wait: 1, theirs, to: upstream, or: other)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { rig.sample(Self.waiters("own")) == 1 })
    try #require(rig.gateway.loops.first).post {
      isHeld.open()
      hold.wait()
    }
    isHeld.wait()
    gate.open()
    #expect(eventually { rig.sample(Self.waiters("own")) == 0 })
    letPass(1.1)
    hold.open()
    #expect(eventually { rig.sample(Self.waiters("theirs")) == 1 })
    #expect(other.connectionCount == 0)
    theirGate.open()
    #expect(client.response()?.text == "other")
    #expect(other.authorizations == ["Bearer theirs"])
    #expect(upstream.connectionCount == 0)
  }

  // MARK: Readiness

  @Test func aTokenServiceThatHangsIsNotWaitedForForEver() async throws {
    let gate = Gate()
    let tokens = try TokenService(gate: gate)
    let registry = CredentialRegistry(monitor: nil, log: Logger(level: .error))
    registry.follow(try Configuration(to: 1, credential: tokens.kind()))
    await registry.settle(within: 0.05)
    #expect(registry["c"]?.isSettled == false)
    async let settled: Void = registry.settle(within: 60)
    #expect(await soon { tokens.asked == 1 })
    gate.open()
    await settled
    #expect(registry["c"]?.report().state == .good)
  }

  @Test(arguments: [false, true]) func aGatewayIsReadyOnceItsTokenServiceHasAnswered(isRefused: Bool) async throws {
    let gate = Gate()
    let tokens = try TokenService(gate: gate)
    if isRefused { tokens.answer = TokenService.refusal }
    let rig = try GatewayRig(to: 1, credential: tokens.kind())
    async let ready: Void = rig.gateway.prepareUpstreams()
    #expect(await soon { tokens.asked == 1 })
    gate.open()
    await ready
    let credential = try #require(rig.gateway.credentials["c"])
    #expect(credential.isSettled)
    #expect(credential.report().state == (isRefused ? .missing : .good))
  }

  // MARK: TLS

  /// The certificate of the token service has another name than its URL, and the service asks for one itself.
  @Test(.enabled(if: Tool.openssl.isInstalled)) func aTokenServiceMayAskForACertificate() async throws {
    let certificates = try await TestCertificates()
    let (server, client) = (certificates.wrongHost, certificates.client)
    let authority = certificates.authority.certificate, port = LoopbackPort.free()
    let service = """
      listeners:
        - name: a
          address: "127.0.0.1:\(port)"
          tls: {certificates: [{certificate: \(server.certificate), key: \(server.key)}], clientCA: \(authority)}
      routes:
        - name: token
          respond:
            status: 200
            contentType: application/json
            body: '{"access_token":"t0ken","token_type":"bearer","expires_in":3600}'
      """
    let serviceRig = try GatewayRig(Configuration(parsing: Array(service.utf8), file: "f"))
    let name = "serverName: weir.example", pair = "certificate: \(client.certificate), key: \(client.key)"
    func oauth2(_ keys: String...) -> String {
      let tls = (["ca: \(authority)"] + keys).joined(separator: ", ")
      return "oauth2: {tokenURL: \"https://127.0.0.1:\(port)/token\", clientID: shop, tls: {\(tls)}}"
    }
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let text = """
      credentials:
        - {name: whole, \(oauth2(name, pair))}
        - {name: unproven, \(oauth2(name))}
        - {name: unnamed, \(oauth2(pair))}
      routes: [{name: r, upstream: "http://127.0.0.1:\(upstream.port)", credential: whole}]
      """
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    let rig = try GatewayRig(configuration)
    let requester = try rig.client()
    requester.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(requester.response()?.text == "ok")
    #expect(upstream.authorizations == ["Bearer t0ken"])
    let trials = await fetchEach(configuration.credentials)
    #expect(trials.map(\.name) == ["whole", "unproven", "unnamed"])
    #expect(trials.map(\.isGood) == [true, false, false])
    let lines = trials.filter { !$0.isGood }.map(\.line)
    let start = "no token came (transport_error): The token service gave no answer. "
    #expect(lines.allSatisfy { $0.hasPrefix(start) }, "\(lines)")
    #expect(lines.first?.contains("certificate required") == true, "\(lines)")
    #expect(lines.last?.contains("no alternative certificate subject name matches target") == true, "\(lines)")
    withExtendedLifetime(serviceRig) {}
  }
}
