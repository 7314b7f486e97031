import Foundation
import FoundationNetworking
import Testing
import WeirCurl
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import Weir

/// Groups of endpoints that stand for an origin.
@Suite("Endpoint groups", .timeLimit(.minutes(5)))
struct EndpointGroupTests {
  private static let origin = "http://pay.invalid"

  private static func server(_ body: String) throws -> ScriptedServer {
    try ScriptedServer(Script(.forever([.request, .send(okResponse(body))])))
  }

  /// An address at which nobody listens.
  private static func dead() throws -> String {
    let server = try Self.server("")
    defer { withExtendedLifetime(server) { server.stop() } }
    return "127.0.0.1:\(server.port)"
  }

  private static func session(
    _ group: EndpointGroup, monitors: [any EventMonitor] = [], _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> Session {
    var configuration = SessionConfiguration.default
    configuration.endpoints = [group]
    change(&configuration)
    return Session(configuration: configuration, eventMonitors: monitors)
  }

  @Test("Requests are spread over the endpoints, and name the origin")
  func spread() async throws {
    let servers = [try Self.server("a"), try Self.server("b")]
    let group = try EndpointGroup(
      origin: Self.origin, endpoints: servers.map { "127.0.0.1:\($0.port)" }, balance: .roundRobin)
    let session = Self.session(group)
    var bodies: [String] = []
    for _ in 0..<10 { bodies.append(try await session.request("\(Self.origin)/x").serializingString().value) }
    #expect(bodies.count { $0 == "a" } == 5 && bodies.count { $0 == "b" } == 5, "\(bodies)")
    for server in servers { #expect(server.receivedText(on: 0).contains("\r\nHost: pay.invalid\r\n")) }
  }

  @Test("Any request whose connection can't be opened goes to another endpoint")
  func deadEndpoint() async throws {
    let server = try Self.server("alive")
    let group = try EndpointGroup(
      origin: Self.origin, endpoints: [try Self.dead(), "127.0.0.1:\(server.port)"], balance: .roundRobin,
      outlier: nil)
    let session = Self.session(group) { $0.retryBudget = nil }
    for method in [HTTPMethod.get, .post] {
      for _ in 0..<6 {
        let request = session.request(Self.origin, method: method)
        #expect(try await request.serializingString().value == "alive")
      }
    }
  }

  @Test("A dead endpoint is left out, and monitors hear of it")
  func ejection() async throws {
    let (dead, server) = (try Self.dead(), try Self.server("alive"))
    let events = Journal<EndpointEvent>()
    let monitor = ClosureEventMonitor()
    monitor.sessionEndpointEvent = { _, origin, event in
      #expect(origin.host == "pay.invalid")
      events.append(event)
    }
    let group = try EndpointGroup(
      origin: Self.origin, endpoints: [dead, "127.0.0.1:\(server.port)"], balance: .roundRobin)
    let session = Self.session(group, monitors: [monitor])
    var retries = 0
    for _ in 0..<40 {
      let request = session.request(Self.origin)
      #expect(try await request.serializingString().value == "alive")
      retries += request.retryCount
    }
    // Five failures in a row, and none after them.
    #expect(retries == 5)
    await events.wait { !$0.isEmpty }
    let event = try #require(events.entries.first)
    #expect(event.endpoint == dead)
    if case .ejected(.consecutive, let seconds) = event.kind {
      #expect((9...11).contains(seconds))
    } else {
      Issue.record("\(event)")
    }
  }

  @Test("Without an endpoint requests are rejected, until there is one")
  func empty() async throws {
    let group = try EndpointGroup(origin: Self.origin)
    let session = Self.session(group)
    let request = session.request(Self.origin)
    guard case .requestRejected(reason: .noEndpoint)? = await request.serializingData().response.error else {
      Issue.record("\(String(describing: request.error))")
      return
    }
    #expect(request.outcome == .rejected)
    let server = try Self.server("new")
    try group.update(["127.0.0.1:\(server.port)"])
    #expect(try await session.request(Self.origin).serializingString().value == "new")
  }

  @Test("Idle connections to an endpoint that is gone are closed at once")
  func departure() async throws {
    let servers = [try Self.server("a"), try Self.server("b")]
    let names = servers.map { "127.0.0.1:\($0.port)" }
    let group = try EndpointGroup(origin: Self.origin, endpoints: names, balance: .roundRobin)
    let closed = Journal<ConnectionEvent.Kind>()
    let monitor = ClosureEventMonitor()
    monitor.sessionConnectionEvent = { _, event in if event.kind == .closed { closed.append(event.kind) } }
    let session = Self.session(group, monitors: [monitor]) { $0.http1Engine = .own }
    for _ in 0..<4 { _ = try await session.request(Self.origin).serializingString().value }
    try group.update([names[1]])
    await closed.wait { $0.count == 1 }
    for _ in 0..<4 { #expect(try await session.request(Self.origin).serializingString().value == "b") }
    #expect(servers.map(\.connectionCount) == [1, 1])
  }

  @Test("Equal values of the field go to one endpoint")
  func hash() async throws {
    let servers = try (0..<4).map { try Self.server("\($0)") }
    let group = try EndpointGroup(
      origin: Self.origin, endpoints: servers.map { "127.0.0.1:\($0.port)" },
      balance: .consistentHash(header: "X-Account"))
    let session = Self.session(group)
    var homes: [String: Set<String>] = [:]
    for _ in 0..<3 {
      for account in 0..<20 {
        let body = try await session.request(Self.origin, headers: ["X-Account": "\(account)"]).serializingString()
          .value
        homes["\(account)", default: []].insert(body)
      }
    }
    #expect(homes.values.allSatisfy { $0.count == 1 })
    #expect(Set(homes.values.flatMap(\.self)).count > 1)
  }

  @Test("A redirect to another origin leaves the endpoints, and one to the same origin stays")
  func redirects() async throws {
    let other = try Self.server("elsewhere")
    let first = try ScriptedServer(
      Script(
        .forever([
          .route { head in
            switch head {
            case _ where head.hasPrefix("GET /away"):
              [.send("HTTP/1.1 302 Found\r\nLocation: \(other.url)\r\nContent-Length: 0\r\n\r\n")]
            case _ where head.hasPrefix("GET /stay"):
              [.send("HTTP/1.1 302 Found\r\nLocation: /here\r\nContent-Length: 0\r\n\r\n")]
            default: [.send(okResponse("here"))]
            }
          }
        ])))
    let group = try EndpointGroup(origin: Self.origin, endpoints: ["127.0.0.1:\(first.port)"])
    let session = Self.session(group)
    #expect(try await session.request("\(Self.origin)/stay").serializingString().value == "here")
    #expect(try await session.request("\(Self.origin)/away").serializingString().value == "elsewhere")
  }

  @Test("An endpoint that a redirect to another origin leads to is left out for its failures")
  func failuresAfterRedirect() async throws {
    let (dead, server) = (try Self.dead(), try Self.server("alive"))
    let response = "HTTP/1.1 307 Temporary Redirect\r\nLocation: \(Self.origin)/x\r\nContent-Length: 0\r\n\r\n"
    let first = try ScriptedServer(Script(.forever([.request, .send(response)])))
    let group = try EndpointGroup(
      origin: Self.origin, endpoints: [dead, "127.0.0.1:\(server.port)"], balance: .roundRobin)
    let session = Self.session(group)
    var failures = 0
    for _ in 0..<40 {
      let request = session.request(first.url, method: .post)
      if await request.serializingString().result.failure != nil { failures += 1 }
      #expect(request.retryCount == 0, "the first hop was sent")
    }
    // Five failures in a row, and none after them.
    #expect(failures == 5)
    let report = group.set.report(at: .now)
    #expect(report.endpoints.first { $0.name == dead }?.failures == 5)
    #expect(report.endpoints.first { $0.name != dead }?.successes == 35)
  }

  @Test(
    "What is no endpoint is refused with the reason",
    arguments: [
      ("10.0.0.7", "\"10.0.0.7\": the port is missing; write host:port"),
      ("10.0.0.7:0", "\"10.0.0.7:0\": the port must be 1 to 65535"),
      ("10.0.0.7:65536", "\"10.0.0.7:65536\": the port must be 1 to 65535"),
      ("a b:80", "\"a b:80\": the host must be a name or an address"),
      (":80", "\":80\": the host must be a name or an address"),
      ("::1:80", "\"::1:80\": an IPv6 address needs brackets, as in [2001:db8::7]:8443"),
      ("[::g]:80", "\"[::g]:80\": what is in brackets must be an IPv6 address"),
      ("unix:relative", "\"unix:relative\": unix: needs an absolute path of less than 108 bytes"),
      ("http://a:80", "\"http://a:80\": write host:port, without scheme and path"),
    ])
  func badEndpoints(text: String, reason: String) throws {
    let error = #expect(throws: EndpointProblem.self) { try EndpointGroup(origin: Self.origin, endpoints: [text]) }
    #expect(error?.description == reason)
  }

  @Test("An update that is refused changes nothing")
  func refusedUpdate() async throws {
    let server = try Self.server("kept")
    let group = try EndpointGroup(origin: Self.origin, endpoints: ["127.0.0.1:\(server.port)"])
    #expect(throws: EndpointProblem.self) { try group.update(["127.0.0.1:1", "nonsense"]) }
    let session = Self.session(group)
    #expect(try await session.request(Self.origin).serializingString().value == "kept")
    #expect(throws: EndpointProblem.self) { try EndpointGroup(origin: "ftp://x") }
    #expect(throws: EndpointProblem.self) { try EndpointGroup(origin: "pay.internal") }
  }
}

/// Groups with an endpoint in trouble, under load.
@Suite("Endpoint groups under load", .slow, .timeLimit(.minutes(5)), .serialized)
struct EndpointGroupLoadTests {
  private static let origin = "http://pay.invalid"

  @Test("One of ten endpoints is dead: no request fails, and none goes to it twice")
  func deadEndpoint() async throws {
    let servers = try (0..<10).map { _ in try ScriptedServer(Script(.forever([.request, .send(okResponse("x"))]))) }
    servers[0].stop()
    let group = try EndpointGroup(origin: Self.origin, endpoints: servers.map { "127.0.0.1:\($0.port)" })
    var configuration = SessionConfiguration.default
    configuration.endpoints = [group]
    let session = Session(configuration: configuration)
    let counts = await withTaskGroup(of: (failed: Int, repeated: Int).self) { tasks in
      for _ in 0..<32 {
        tasks.addTask {
          var (failed, repeated) = (0, 0)
          for _ in 0..<312 {
            let request = session.request(Self.origin, method: .post)
            if await request.serializingString().result.failure != nil { failed += 1 }
            if request.retryCount > 1 { repeated += 1 }
          }
          return (failed, repeated)
        }
      }
      return await tasks.reduce(into: (failed: 0, repeated: 0)) {
        $0.failed += $1.failed
        $0.repeated += $1.repeated
      }
    }
    #expect(counts.failed == 0)
    #expect(counts.repeated == 0)
  }

  @Test("One of four endpoints hangs and callers leave: it gets next to nothing, and nobody is refused")
  func hangingEndpoint() async throws {
    let silent = try ScriptedServer(Script(.forever([.request, .awaitClose])))
    let servers = try (0..<3).map { _ in try ScriptedServer(Script(.forever([.request, .send(okResponse("x"))]))) }
    let group = try EndpointGroup(
      origin: Self.origin, endpoints: ([silent] + servers).map { "127.0.0.1:\($0.port)" })
    var configuration = SessionConfiguration.default
    configuration.endpoints = [group]
    configuration.overload = .default
    let session = Session(configuration: configuration)
    let began = ContinuousClock.now
    let all = Journal<(isLate: Bool, error: WeirError?)>()
    var before = 0
    await withTaskGroup(of: Void.self) { tasks in
      while ContinuousClock.now - began < .seconds(10) {
        let isLate = ContinuousClock.now - began > .seconds(5)
        if !isLate { before = silent.allRequests.count }
        tasks.addTask {
          let request = session.request(Self.origin)
          let timer = Task {
            try await letPass(2)
            request.cancel()
          }
          let error = await request.serializingData().response.error
          timer.cancel()
          all.append((isLate, error))
        }
        try? await letPass(0.005)
      }
    }
    // A busy machine has fewer callers. Those that leave it may have waited for the machine: counted is what the endpoint has got.
    let late = all.entries.count(where: \.isLate)
    let got = silent.allRequests.count - before
    #expect(late > 50)
    #expect(Double(got) <= 0.01 * Double(late) + 2, "\(got) of \(late)")
    #expect(all.entries.allSatisfy { $0.error == nil || $0.error?.isExplicitlyCancelledError == true })
  }
}
