import Testing
import WeirCurl
import WeirIO
import WeirTestSupport

/// Ways to a server: several addresses, tunnels, handshakes; what is counted and measured when they lead nowhere.
@Suite(.slow, .timeLimit(.minutes(5)))
struct DialTests {
  @Test("What can't be connected is no connection opened", arguments: ["http", "https"])
  func failedDials(scheme: String) async throws {
    let (full, gone) = (try FullListener(), try ScriptedServer(.answering(okResponse("x"))))
    gone.stop()
    let rig = try await EngineRig { $0.connectTimeout = 0.2 }
    for port in [full.port, gone.port] {
      #expect(await rig.get("\(scheme)://127.0.0.1:\(port)/").error != nil)
    }
    #expect(rig.counts.value.opened == 0)
    #expect(rig.counts.open == 0)
    #expect(await rig.onEngine { $0.openConnections } == 0)
    await rig.close()
  }

  @Test("A handshake that hangs or fails is the phase tls")
  func handshake() async throws {
    let hole = try BlackHole()
    let garbage = try ScriptedServer(Script(.bytes(1), .send("garbage\r\n"), .awaitClose))
    for (port, code, patience) in [(hole.port, CurlCode.timedOut, 2.0), (garbage.port, .tlsConnect, 30)] {
      let rig = try await EngineRig { $0.connectTimeout = patience }
      let outcome = await rig.get("https://127.0.0.1:\(port)/")
      #expect(outcome.error?.code == code)
      let report = try #require(outcome.report)
      let (connect, tls) = (try #require(report.phases[.connect]), try #require(report.phases[.tls]))
      #expect(connect + tls <= report.total)
      if code == .timedOut { #expect(tls > patience / 3) }
      #expect(report.phases[.processing] == nil)
      #expect(rig.counts.value.opened == 0)
      await rig.close()
    }
  }

  @Test("A proxy's refusal of a tunnel has its status, and is the phase tunnel", arguments: [403, 407, 502])
  func refusedTunnel(status: Int) async throws {
    let proxy = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 \(status) No\r\nContent-Length: 2\r\n\r\nno"), .awaitClose))
    let port = proxy.port
    let rig = try await EngineRig { $0.proxy = .http(host: "127.0.0.1", port: port, credential: nil) }
    let outcome = await rig.get("https://far.example/path")
    #expect(outcome.error?.kind == (status == 407 ? .proxyUnauthorized : .proxyRefused))
    #expect(outcome.error?.proxyStatus == status)
    #expect(
      outcome.error?.message.hasPrefix("the proxy http://127.0.0.1:\(port) answered CONNECT with \(status)") == true)
    #expect(outcome.report?.phases[.connect] != nil)
    #expect(outcome.report?.phases[.tunnel] != nil)
    #expect(outcome.report?.phases[.tls] == nil)
    #expect(outcome.heads.isEmpty)
    await rig.close()
  }

  /// Some of these are there when libcurl first tries to read, so that it never waits for them.
  @Test(
    "A proxy that refuses or closes before it is asked is the phase tunnel",
    arguments: [
      (true, Script.Step.send("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"), TransferError.Kind.proxyUnauthorized),
      // No method of SOCKS is acceptable (RFC 1928 §3).
      (false, .send([5, 0xFF]), .proxyUnauthorized), (true, .close, .proxyUnreachable),
      (false, .close, .proxyUnreachable),
    ])
  func earlyEnd(isHTTP: Bool, step: Script.Step, kind: TransferError.Kind) async throws {
    let proxy = try ScriptedServer(Script(step, .awaitClose))
    let port = proxy.port
    let rig = try await EngineRig {
      $0.proxy =
        isHTTP
        ? .http(host: "127.0.0.1", port: port, credential: nil)
        : .socks5(host: "127.0.0.1", port: port, credential: nil)
    }
    for _ in 0..<200 {
      let outcome = await rig.get("https://127.0.0.1/")
      #expect(outcome.error?.kind == kind)
      #expect(outcome.report?.phases[.connect] != nil)
      #expect(outcome.report?.phases[.tunnel] != nil)
    }
    await rig.close()
  }

  @Test(
    "A proxy that answers nothing is the phase tunnel; a tunnel that leads nowhere is tls", arguments: [false, true])
  func hungTunnel(isMade: Bool) async throws {
    let steps: [Script.Step] = isMade ? [.send("HTTP/1.1 200 OK\r\n\r\n")] : []
    let proxy = try ScriptedServer(Script(.head, .steps(steps), .awaitClose))
    let port = proxy.port
    let rig = try await EngineRig {
      $0.proxy = .http(host: "127.0.0.1", port: port, credential: nil)
      $0.connectTimeout = 2
    }
    let outcome = await rig.get("https://far.example/path")
    #expect(outcome.error?.kind == (isMade ? .curl : .proxyTimeout))
    #expect(outcome.error?.code == .timedOut)
    #expect((outcome.report?.phases[.tls] != nil) == isMade)
    #expect(try #require(outcome.report?.phases[isMade ? .tls : .tunnel]) > 0.2)
    #expect(try #require(outcome.report?.phases[.connect]) < 0.2)
    await rig.close()
  }

  @Test("Of two addresses the first of which is black-holed, the second answers within the connect timeout")
  func blackHoledAddress() async throws {
    let server = try ScriptedServer(.answering(okResponse("there")))
    let port = server.port
    let full = try FullListener(host: 2, port: port)
    let rig = try await EngineRig {
      $0.connectTimeout = 6
      $0.resolveOverrides = [
        ResolveOverrideOptions(host: "a.example", port: port, addresses: ["127.0.0.2", "127.0.0.1"])
      ]
    }
    let outcome = await rig.get("http://a.example:\(port)/")
    #expect(outcome.text == "there", "\(String(describing: outcome.error))")
    let connect = try #require(outcome.report?.phases[.connect])
    #expect(connect > 2.5 && connect < 5.8)
    #expect(outcome.report?.remoteAddress == "127.0.0.1")
    #expect(rig.counts.value.opened == 1)
    #expect(rig.counts.open == 1)
    #expect(await rig.onEngine { $0.openConnections } == 1)
    await rig.close()
    withExtendedLifetime(full) {}
  }

  @Test("The loser of two families is closed and not counted")
  func happyEyeballs() async throws {
    let server = try ScriptedServer(.answering(okResponse("there")))
    let port = server.port
    let full = try FullListener(ipv6Port: port)
    let rig = try await EngineRig {
      $0.resolveOverrides = [ResolveOverrideOptions(host: "a.example", port: port, addresses: ["::1", "127.0.0.1"])]
    }
    let outcome = await rig.get("http://a.example:\(port)/")
    #expect(outcome.text == "there", "\(String(describing: outcome.error))")
    #expect(outcome.report?.remoteAddress == "127.0.0.1")
    #expect(rig.counts.value.opened == 1)
    #expect(rig.counts.open == 1)
    #expect(await rig.onEngine { $0.openConnections } == 1)
    await rig.close()
    #expect(rig.counts.open == 0)
    withExtendedLifetime(full) {}
  }
}
