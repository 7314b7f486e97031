import Foundation
import Testing
import Weir
import WeirIO
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// Credentials that the upstream refuses.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct CredentialRepairTests {
  @Test(arguments: ["GET", "POST"]) func arefusalIsRepaired(method: String) throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    let client = try rig.client()
    let request = "\(method) / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"
    client.send(request)
    #expect(client.response()?.status == 200)
    tokens.revoke()
    client.send(request)
    let response = try #require(client.response())
    #expect(response.status == 200)
    #expect(response.text == "ok")
    #expect(tokens.count == 2)
    #expect(upstream.authorizations == ["Bearer token1", "Bearer token1", "Bearer token2"])
    #expect(upstream.requestHeads.last?.contains("X-Retry-Attempt: 1\r\n") == true)
    #expect(upstream.requestHeads.last?.contains("\r\nContent-Length: 4") == true)
    let labels = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    #expect(eventually { rig.sample("weir_retries_total{\(labels),reason=\"401\"}") == 1 })
  }

  /// One fetch for all, and no client sees the refusal.
  @Test func allAreRepairedByOneFetch() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    let clients = try (0..<20).map { _ in try rig.client() }
    for round in 0..<2 {
      if round == 1 { tokens.revoke() }
      for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
      for client in clients { #expect(client.response()?.status == 200) }
    }
    #expect(tokens.count == 2)
  }

  @Test func whatCantBeSentAgainIsNot() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    let client = try Self.clientWithRefusedToken(rig, tokens)
    let size = 300_000
    client.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: \(size)\r\n\r\n")
    client.send([UInt8](repeating: 120, count: size))
    #expect(client.response()?.status == 401)
    #expect(upstream.requestHeads.count { $0.hasPrefix("PUT ") } == 1)
    // The next one finds another token.
    #expect(eventually { tokens.count == 2 })
    let other = try rig.client()
    #expect(
      eventually {
        other.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        return other.response()?.status == 200
      })
  }

  @Test func aTokenOfItsOwnIsNotFetchedAgain() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    tokens.areUseless = true
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind(lifetime: 3600))
    let client = try rig.client()
    for _ in 0..<3 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == 401)
      #expect(response.text == "who?")
    }
    // Each request that carried a token of another one's gets one fetch.
    #expect((1...4).contains(tokens.count))
  }

  @Test func thereAreFiveInHalfAMinute() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    tokens.areUseless = true
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind(lifetime: 3600))
    let client = try rig.client()
    for _ in 0..<12 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 401)
    }
    #expect(tokens.count <= 6)
    let excessive = rig.sample("weir_auth_refreshes_total{interceptor=\"c\",outcome=\"excessive\"}") ?? 0
    #expect(excessive > 0)
  }

  @Test func aResponseThatBreaksOffMeanwhileIsNoReason() throws {
    let gate = Gate(), breaks = Gate()
    let tokens = try TokenService()
    let upstream = try ScriptedServer(
      Script(.head, .send(okResponse("ok"))),
      Script(.head, .send("HTTP/1.1 401 No\r\nContent-Length: 100\r\n\r\nhalf"), .wait(breaks), .reset),
      .answering(okResponse("there")))
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind(lifetime: 3600))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    tokens.gate = gate
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    // A reset would take the head along that was not read yet.
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 1 })
    breaks.open()
    #expect(eventually { upstream.finishedCount == 2 })
    gate.open()
    #expect(client.response()?.text == "there")
  }

  /// The response of a refusal goes to the client when there is no other token.
  @Test func aFailedRepairShowsTheRefusal() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    let client = try Self.clientWithRefusedToken(rig, tokens)
    tokens.answer = TokenService.refusal
    for _ in 0..<2 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == 401)
      #expect(response.text == "who?")
      #expect(response.isComplete)
    }
  }

  @Test func aFileIsReadAgainOnlyIfItHasChanged() throws {
    let folder = try TemporaryDirectory()
    let path = folder.path + "/token"
    try Data("one".utf8).write(to: URL(fileURLWithPath: path))
    let file = try SecretFile(path)
    let upstream = try ScriptedServer(
      .answering { "HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nwho?" })
    let rig = try GatewayRig(to: upstream.port, credential: .bearer(Secret(file)))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 401)
    #expect(upstream.authorizations == ["Bearer one"])
  }

  @Test func aFileThatHasChangedIsEnough() throws {
    let folder = try TemporaryDirectory()
    let path = try folder.file("token", "one")
    let file = try SecretFile(path)
    let change: @Sendable () -> Void = {
      try? Data("two".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
      _ = eventually { file.value == "two" }
    }
    let upstream = try ScriptedServer(
      Script(
        .head, .call(change), .send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"), .head, .send(okResponse("ok"))),
      .answering(okResponse("ok")))
    let rig = try GatewayRig(to: upstream.port, credential: .bearer(Secret(file)))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "ok")
    #expect(upstream.authorizations == ["Bearer one", "Bearer two"])
  }

  /// The request was refused with a token that is not the present one any more.
  @Test func aTokenThatHasChangedNeedsNoFetch() throws {
    let tokens = try TokenService(), gate = Gate()
    let good = tokens.script
    let upstream = try ScriptedServer(
      Script(.head, .wait(gate), .send("HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")), good)
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    #expect(
      eventually { tokens.count == 1 && rig.sample("weir_credential_state{credential=\"c\",state=\"good\"}") == 1 })
    let slow = try rig.client(), quick = try rig.client()
    slow.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { upstream.requestHeads.count == 1 })
    tokens.revoke()
    quick.send("GET /quick HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(quick.response()?.text == "ok")
    gate.open()
    #expect(slow.response()?.text == "ok")
    #expect(tokens.count == 2)
  }

  /// While the next token is fetched, nothing is sent with one that was refused; without a budget for retries, too.
  @Test func aStaleTokenIsNotSent() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind()) { route in
      route.retry.budget = RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 0)
    }
    let first = try rig.client()
    first.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(first.response()?.status == 200)
    tokens.revoke()
    let gate = Gate()
    tokens.gate = gate
    first.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 1 })
    let later = try (0..<3).map { _ in try rig.client() }
    for client in later { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 4 })
    gate.open()
    for client in [first] + later { #expect(client.response()?.status == 200) }
    #expect(upstream.authorizations.count { $0 == "Bearer token1" } == 2)
    #expect(tokens.count == 2)
  }

  @Test func aRepairEndsWithTheRequestsTime() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind()) { $0.timeout = .seconds(2) }
    let client = try Self.clientWithRefusedToken(rig, tokens)
    let gate = Gate()
    tokens.gate = gate
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 504)
    gate.open()
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 0 })
  }

  @Test func aCredentialThatIsGoneHasNoSeries() async throws {
    let gate = Gate()
    let tokens = try TokenService(gate: gate), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 1 })
    try await rig.gateway.reload(Configuration(routes: [Route(to: upstream.port)]))
    gate.open()
    #expect(client.response()?.status == 200)
    #expect(eventually { rig.count("success") == 1 })
    #expect(!rig.registry.text().contains("interceptor=\"c\""))
  }

  /// A client that was served with a token which the upstream takes no more.
  private static func clientWithRefusedToken(_ rig: GatewayRig, _ tokens: TokenService) throws -> RawClient {
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    tokens.revoke()
    return client
  }
}
