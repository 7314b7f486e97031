import Foundation
import Glibc
import Testing
import WeirCurl
import WeirHTTP
import WeirIO
import WeirTestSupport

/// Connections: made, shared, counted, lost.
@Suite(.slow, .timeLimit(.minutes(5)))
struct ConnectionTests {
  private final class Tag: Sendable {}

  @Test
  func reuse() async throws {
    let server = try ScriptedServer(.answering(okResponse("hello")))
    let rig = try await EngineRig()
    let tag = Tag()
    for round in 0..<5 {
      let outcome = await rig.transfer(TransferSpec(url: server.url, tag: tag))
      let report = try #require(outcome.report)
      #expect(report.isReusedConnection == (round > 0))
      #expect(report.connectionsOpened == (round == 0 ? 1 : 0))
      #expect(report.staleRetries == 0)
      #expect(report.remoteAddress == "127.0.0.1")
      #expect(report.remotePort == server.port)
      #expect((report.phases[.connect] != nil) == (round == 0))
      #expect((report.phases[.resolve] != nil) == (round == 0))
      #expect(report.phases[.tls] == nil)
      for phase in [report.phases[.send], report.phases[.processing], report.phases[.transfer]] {
        #expect(try #require(phase) >= 0)
      }
      #expect(report.total >= 0)
      #expect(report.version == .http1_1)
    }
    #expect(rig.counts.value.opened == 1)
    #expect(rig.counts.open(of: tag) == 1)
    #expect(server.connectionCount == 1)
    await rig.close()
    #expect(rig.counts.open(of: tag) == 0)
    #expect(await eventually { server.closedByClientCount == 1 })
  }

  @Test
  func closeByTheServer() async throws {
    let server = try ScriptedServer(.once(okResponse("bye", "Connection: close\r\n")))
    let rig = try await EngineRig()
    for round in 1...3 {
      #expect(await rig.get(server.url).error == nil)
      #expect(rig.counts.value.opened == round)
      #expect(rig.counts.open == 0)
    }
    await rig.close()
  }

  @Test
  func connectionsInParallel() async throws {
    let server = try ScriptedServer(.answering(okResponse("hello")))
    let rig = try await EngineRig()
    let texts = await withTaskGroup(of: String.self) { group in
      for _ in 0..<100 { group.addTask { await rig.get(server.url).text } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(texts == Array(repeating: "hello", count: 100))
    // Some were opened for requests that others have served meanwhile, and wait for the server to accept them.
    #expect(await eventually { server.connectionCount == rig.counts.value.opened })
    #expect(rig.counts.open == server.connectionCount)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test func idleConnectionsMakePlace() async throws {
    let servers = try (0..<4).map { _ in try ScriptedServer(.answering(okResponse("x"))) }
    let rig = try await EngineRig { $0.maximumPooledConnections = 2 }
    for server in servers {
      #expect(await rig.get(server.url).text == "x")
      // libcurl closes the one that was idle longest, in whole milliseconds.
      try await letPass(0.003)
    }
    #expect(await eventually { rig.counts.open == 2 })
    #expect(await rig.get(servers[3].url).report?.isReusedConnection == true)
    #expect(await rig.get(servers[0].url).report?.isReusedConnection == false)
    await rig.close()
  }

  /// A pooled connection that the server closes as the next request arrives: sent again on a new one.
  ///
  /// A body of unknown length is not among them: it goes out after its head, and when the reset comes first libcurl
  /// reports that it could not send, which it doesn't retry.
  @Test(arguments: [TransferBody.none, .bytes([1, 2, 3]), .pulled(length: 3)])
  func staleConnection(body: TransferBody) async throws {
    // One that is given piece by piece goes out after its head, too: a reset must not come between the two.
    let read: Script.Step = if case .pulled = body { .bytes(3) } else { .bytes(0) }
    let stale = Script(.head, .send(okResponse("one")), .head, read, .close)
    let wire: Script.Step =
      switch body {
      case .none: .bytes(0)
      default: .bytes(3)
      }
    let server = try ScriptedServer(stale, Script(.head, wire, .send(okResponse("two")), .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let method: String = if case .none = body { "GET" } else { "PUT" }
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: method, body: body)) {
      $0.source = [1, 2, 3]
    }
    #expect(outcome.error == nil)
    #expect(outcome.text == "two")
    #expect(outcome.report?.staleRetries == 1)
    #expect(outcome.report?.isReusedConnection == false)
    #expect(outcome.report?.bytesSent == (method == "GET" ? 0 : 3))
    #expect(rig.counts.value.opened == 2)
    #expect(rig.counts.open == 1)
    await rig.close()
  }

  @Test
  func staleConnectionAndABodyThatCannotStartAnew() async throws {
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), .head, .bytes(3), .close), .answering(okResponse("two")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let spec = TransferSpec(url: server.url, method: "PUT", body: .pulled(length: 3))
    let outcome = await rig.transfer(spec) { recorder in
      recorder.source = [1, 2, 3]
      recorder.onRewind = { false }
    }
    #expect(outcome.error?.kind == .bodyNotRewindable)
    #expect(outcome.rewinds == 1)
    await rig.close()
  }

  @Test
  func refused() async throws {
    let server = try ScriptedServer(.answering(okResponse("x")))
    server.stop()
    let rig = try await EngineRig()
    let outcome = await rig.get(server.url)
    #expect(outcome.error?.code == .couldNotConnect)
    #expect(outcome.error?.osErrno == ECONNREFUSED)
    #expect(outcome.error?.message.contains("127.0.0.1") == true)
    #expect(outcome.report?.phases[.connect] != nil, "the phase that the end came in counts up to it")
    #expect(outcome.report?.phases[.processing] == nil)
    #expect(outcome.report?.isReusedConnection == false)
    #expect(rig.counts.open == 0)
    await rig.close()
  }

  @Test
  func connectTimeout() async throws {
    let full = try FullListener()
    let rig = try await EngineRig { $0.connectTimeout = 0.2 }
    let outcome = await rig.get(full.url)
    #expect(outcome.error?.code == .timedOut)
    let total = try #require(outcome.report?.total)
    #expect(total > 0.15 && total < 5)
    #expect(rig.counts.open == 0)
    await rig.close()
  }

  @Test
  func unixSocket() async throws {
    let path = NSTemporaryDirectory() + "weir-\(UUID().uuidString.prefix(8)).sock"
    defer { unlink(path) }
    let server = try ScriptedServer(unixSocketPath: path, .answering(okResponse("local")))
    let rig = try await EngineRig { $0.unixSocketPath = path }
    let outcome = await rig.get("http://service.example/status")
    #expect(outcome.text == "local")
    #expect(server.receivedText().hasPrefix("GET /status HTTP/1.1\r\nHost: service.example\r\n"))
    #expect(rig.counts.open == 1)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test
  func resolveOverride() async throws {
    let server = try ScriptedServer(.answering(okResponse("there")))
    let port = server.port
    let rig = try await EngineRig { options in
      options.resolveOverrides = [ResolveOverrideOptions(host: "a.example", port: port, addresses: ["127.0.0.1"])]
    }
    for _ in 0..<2 {
      let outcome = await rig.get("http://a.example:\(port)/")
      #expect(outcome.text == "there")
      #expect(outcome.report?.remoteAddress == "127.0.0.1")
    }
    #expect(server.receivedText().contains("Host: a.example:\(port)\r\n"))
    await rig.close()
  }

  @Test(arguments: [
    ResolveOverrideOptions(host: "", port: 80, addresses: ["127.0.0.1"]),
    ResolveOverrideOptions(host: "a", port: 0, addresses: ["127.0.0.1"]),
    ResolveOverrideOptions(host: "a", port: 80, addresses: []),
  ])
  func resolveOverrideThatIsNone(override: ResolveOverrideOptions) async throws {
    await #expect(throws: TransferError.self) { try await EngineRig { $0.resolveOverrides = [override] } }
  }

  @Test
  func nameThatDoesNotExist() async throws {
    let rig = try await EngineRig()
    let outcome = await rig.get("http://does-not-exist.invalid/")
    #expect(outcome.error?.code == .couldNotResolveHost)
    #expect(rig.counts.value.opened == 0)
    #expect(await rig.onEngine { $0.runningLookups } == 0)
    await rig.close()
  }

  @Test
  func proxy() async throws {
    let proxy = try ScriptedServer(.answering(okResponse("by proxy")))
    let port = proxy.port
    let rig = try await EngineRig { options in
      options.proxy = .http(
        host: "127.0.0.1", port: port, credential: TransferCredential(user: "me", password: "secret"))
    }
    let outcome = await rig.get("http://far.example/path")
    #expect(outcome.text == "by proxy")
    let request = proxy.receivedText()
    #expect(request.hasPrefix("GET http://far.example/path HTTP/1.1\r\nHost: far.example\r\n"))
    // Not before it asks.
    #expect(!request.contains("Proxy-Authorization"))
    await rig.close()
  }

  @Test
  func replyToConnectIsNoHead() async throws {
    let proxy = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"), .awaitClose))
    let port = proxy.port
    let rig = try await EngineRig { $0.proxy = .http(host: "127.0.0.1", port: port, credential: nil) }
    let outcome = await rig.get("https://far.example/path")
    #expect(outcome.error != nil)
    #expect(outcome.heads.isEmpty)
    #expect(proxy.receivedText().hasPrefix("CONNECT far.example:443 HTTP/1.1\r\n"))
    await rig.close()
  }

  @Test
  func idleConnectionsAreClosed() async throws {
    let server = try ScriptedServer(.answering(okResponse("hello")))
    let rig = try await EngineRig { $0.idleConnectionLifetime = 1 }
    #expect(await rig.get(server.url).error == nil)
    #expect(rig.counts.value.opened == 1)
    #expect(await eventually { rig.counts.open == 0 })
    #expect(await rig.onEngine { $0.openConnections } == 0)
    await rig.close()
  }

  @Test
  func idleConnectionsThatThePeerClosedAreClosed() async throws {
    let server = try ScriptedServer(.once(okResponse("hello")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).error == nil)
    #expect(await eventually { rig.counts.open == 0 })
    await rig.close()
  }

  @Test
  func descriptorsAreGivenBack() async throws {
    let server = try ScriptedServer(.answering(okResponse("hello")))
    let hole = try BlackHole()
    func round() async throws {
      let rig = try await EngineRig()
      for _ in 0..<10 { #expect(await rig.get(server.url).error == nil) }
      let lost = await rig.start(TransferSpec(url: hole.url))
      _ = await rig.get("http://127.0.0.1:1/")
      _ = await rig.get("http://does-not-exist.invalid/")
      await rig.close()
      _ = await lost.outcome
    }
    try await round()
    // Other suites open and close descriptors at the same time, so these are told by the peer's address.
    let left = Self.connections(to: [server.port, hole.port])
    #expect(left.isEmpty, "\(left)")
  }

  /// Sockets of this process that are connected to one of the ports.
  private static func connections(to ports: [Int]) -> [CInt] {
    (0..<1024).filter { fd in
      var address = sockaddr_in()
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(fd, $0, &size) }
      }
      return result == 0 && address.sin_family == sa_family_t(AF_INET)
        && ports.contains(Int(UInt16(bigEndian: address.sin_port)))
    }
  }
}
