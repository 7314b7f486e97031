import Testing
import WeirCurl
import WeirTestSupport

/// What differs when the connection is encrypted.
@Suite(.slow, .timeLimit(.minutes(5)), .enabled(if: TLSUpstream.isInstalled))
struct TLSUpstreamTests {
  /// A second response in the record that ends the first one stays in the TLS library, where no look at the socket finds
  /// it.
  @Test(arguments: ["1.2", "1.3"])
  func strayBytesInTheLastRecord(version: String) async throws {
    let upstream = try await TLSUpstream(version)
    let rig = try await upstream.rig()
    let first = upstream.url("keep", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "~", "one" + okResponse("stray"))
    #expect(await rig.get(first).text == "one")
    let outcome = await rig.get(upstream.url("keep", okResponse("two")))
    #expect(outcome.error == nil)
    #expect(outcome.text == "two")
    await rig.close()
  }

  @Test(arguments: ["1.2", "1.3"])
  func strayBytesOnAnIdleConnection(version: String) async throws {
    let upstream = try await TLSUpstream(version)
    let rig = try await upstream.rig()
    #expect(await rig.get(upstream.url("keep", okResponse("one"), "~", okResponse("stray"))).text == "one")
    #expect(await eventually { await rig.onEngine { $0.openConnections } == 0 })
    #expect(await rig.get(upstream.url("keep", okResponse("two"))).text == "two")
    await rig.close()
  }

  /// Session tickets come ahead of the first response, so they are not taken for strays.
  @Test(arguments: ["1.2", "1.3"])
  func connectionsAreReused(version: String) async throws {
    let upstream = try await TLSUpstream(version)
    let rig = try await upstream.rig()
    for round in 0..<5 {
      let outcome = await rig.get(upstream.url("keep", okResponse("one")))
      #expect(outcome.text == "one")
      #expect(outcome.report?.isReusedConnection == (round > 0))
    }
    #expect(rig.counts.value.opened == 1)
    await rig.close()
  }

  /// A new connection to a server that is known costs a short handshake.
  @Test(arguments: ["1.2", "1.3"])
  func sessionsAreResumed(version: String) async throws {
    let upstream = try await TLSUpstream(version)
    let rig = try await upstream.rig()
    let url = upstream.url("close", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n@")
    var resumed: [String] = []
    for _ in 0..<3 { resumed.append(await rig.get(url).text) }
    #expect(resumed == ["0", "1", "1"])
    #expect(rig.counts.value.opened == 3)
    await rig.close()
  }

  /// Which version is spoken is what the handshake says, not what a response calls itself.
  @Test(arguments: ["1.2", "1.3"])
  func forgedVersion(version: String) async throws {
    let upstream = try await TLSUpstream(version)
    let authority = upstream.certificates.authority.certificate
    let rig = try await EngineRig {
      $0.httpVersion = .http2
      $0.tls.roots = .file(authority)
    }
    for _ in 0..<2 {
      let outcome = await rig.get(upstream.url("keep", "HTTP/2 200 OK\r\nContent-Length: 3\r\n\r\nabc"))
      // 8.14.1 refuses it itself.
      #expect(outcome.error != nil && outcome.heads.isEmpty)
      #expect(await rig.get(upstream.url("keep", okResponse("fine"))).text == "fine")
    }
    await rig.close()
  }

  /// A body that only the connection's end ends: cut or whole, libcurl's engine calls it whole below 8.14.1.
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\n",
  ])
  func cutBody(head: String) async throws {
    let upstream = try await TLSUpstream("1.3")
    let rig = try await upstream.rig()
    let cut = await rig.get(upstream.url("cut", head, "half"))
    #expect(cut.error != nil)
    let whole = await rig.get(upstream.url("close", head, "half"))
    if CurlLibrary.noticesTruncation || isOwnEngine {
      #expect(whole.error == nil)
      #expect(whole.text == "half")
    } else {
      for outcome in [cut, whole] {
        #expect(outcome.error?.kind == .unprovableEnd)
        #expect(outcome.heads.isEmpty)
      }
    }
    await rig.close()
  }

  @Test(arguments: [
    okResponse("whole"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n",
  ])
  func endThatTheConnectionDoesNotMark(response: String) async throws {
    let upstream = try await TLSUpstream("1.3")
    let rig = try await upstream.rig()
    #expect(await rig.get(upstream.url("cut", response)).error == nil)
    let head = await rig.transfer(
      TransferSpec(url: upstream.url("keep", "HTTP/1.1 200 OK\r\n\r\n"), method: "HEAD"))
    #expect(head.error == nil)
    await rig.close()
  }
}
