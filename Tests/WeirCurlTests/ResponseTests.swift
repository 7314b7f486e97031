import Testing
import WeirCurl
import WeirHTTP
import WeirTestSupport

/// What comes in on the wire, well-formed or not.
@Suite(.timeLimit(.minutes(5)))
struct ResponseTests {
  private func exchange(
    _ script: Script, method: String = "GET", _ configure: (inout TransportOptions) -> Void = { _ in }
  ) async throws -> Outcome {
    let server = try ScriptedServer(script)
    let rig = try await EngineRig(configure)
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: method))
    #expect(outcome.finishes == 1)
    await rig.close()
    #expect(rig.counts.open == 0)
    return outcome
  }

  @Test
  func headIsRawButForItsFolds() async throws {
    let head = "HTTP/1.1 200 Fine, thanks\r\nB: 2\r\na:1\r\nB:  3  \r\nLong: one\r\n two\r\nContent-Length: 0\r\n\r\n"
    let outcome = try await exchange(.once(head))
    #expect(outcome.head?.bytes == Array(head.replacing("one\r\n two", with: "one two").utf8))
    #expect(outcome.report?.headerBytes == Int64(head.utf8.count))
  }

  @Test
  func chunkedWithTrailers() async throws {
    let response =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
      + "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nX-Sum: 9\r\nHTTP: odd\r\n\r\n"
    let server = try ScriptedServer(.answering(response))
    let rig = try await EngineRig()
    for _ in 0..<3 {
      let outcome = await rig.get(server.url)
      #expect(outcome.error == nil)
      #expect(outcome.text == "hello world")
      #expect(outcome.heads.count == 1)
      #expect(outcome.report?.bytesReceivedOnWire == 11)
    }
    #expect(server.connectionCount == 1)
    await rig.close()
  }

  @Test
  func interimHeadsAreSkipped() async throws {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    let outcome = try await exchange(
      .once("HTTP/1.1 100 Continue\r\n\r\n" + interim + interim + okResponse("end")))
    #expect(outcome.heads.map(\.status) == [200])
    #expect(outcome.head?.text.contains("Link") == false)
    #expect(outcome.text == "end")
  }

  @Test
  func interimHeadsWithoutEnd() async throws {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </\(String(repeating: "a", count: 900))>\r\n\r\n"
    let outcome = try await exchange(Script(.head, .forever([.send(interim)]))) { $0.maximumHeaderSize = 4096 }
    #expect(outcome.error?.kind == .headTooLarge)
    #expect(outcome.heads.isEmpty)
  }

  @Test
  func switchingProtocolsIsFinal() async throws {
    let outcome = try await exchange(.once("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"))
    // Our own engine takes a response for which nobody asked as a defect.
    #expect(outcome.heads.map(\.status) == (isOwnEngine ? [] : [101]))
  }

  @Test
  func bodyUpToTheEndOfTheConnection() async throws {
    let outcome = try await exchange(.once("HTTP/1.0 200 OK\r\n\r\nuntil the end"))
    #expect(outcome.error == nil)
    #expect(outcome.text == "until the end")
    #expect(outcome.head?.version == .http1_0)
  }

  @Test(arguments: [204, 304])
  func statusesWithoutBody(status: Int) async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 \(status) None\r\nETag: x\r\n\r\n"))
    let rig = try await EngineRig()
    for _ in 0..<2 {
      let outcome = await rig.get(server.url)
      #expect(outcome.error == nil)
      #expect(outcome.head?.status == status)
    }
    #expect(server.connectionCount == 1)
    await rig.close()
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
  ])
  func truncatedBody(response: String) async throws {
    let outcome = try await exchange(.once(response))
    #expect(outcome.error?.kind == .curl)
    #expect([.partialFile, .receiveError].contains(outcome.error?.code))
    #expect(outcome.head?.status == 200)
  }

  @Test(arguments: [
    ("", CurlCode.emptyReply), ("HTTP/1.1 200 OK\r\nContent-", .partialFile), ("HTTP/1.1 ", .emptyReply),
    ("garbage without end", .unsupportedProtocol), ("220 smtp.example ESMTP\r\n\r\n", .unsupportedProtocol),
    ("HTTP/9.9 200 OK\r\n\r\n", .unsupportedProtocol),
    ("HTTP/1.1 abc OK\r\n\r\n", .unsupportedProtocol),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothex\r\n", .receiveError),
    ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", isOwnEngine ? .ok : .weirdServerReply),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", .ok),
  ])
  func malformed(response: String, code: CurlCode) async throws {
    let outcome = try await exchange(.once(response))
    #expect(outcome.error?.code == code)
    #expect(outcome.body.isEmpty)
  }

  @Test
  func zeroBytesInTheHead() async throws {
    let outcome = try await exchange(.once("HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n"))
    #expect(outcome.error != nil || outcome.head?.text.contains("X: a\0b\r\n") == true)
  }

  @Test
  func resetInTheMiddle() async throws {
    let outcome = try await exchange(
      Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), .sleep(0.5), .reset))
    #expect(outcome.error?.code == .receiveError)
    #expect(outcome.text == "half")
  }

  @Test
  func resetBeforeTheHead() async throws {
    let outcome = try await exchange(Script(.head, .reset))
    #expect([.receiveError, .emptyReply].contains(outcome.error?.code))
    #expect(outcome.heads.isEmpty)
  }

  @Test
  func slowDrip() async throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"
    let outcome = try await exchange(Script(.head, .drip(head, every: 0.002), .drip("drop by drop", every: 0.1)))
    #expect(outcome.error == nil)
    #expect(outcome.text == "drop by drop")
    #expect(outcome.bodyCalls > 2)
  }

  @Test
  func headSizeIsBounded() async throws {
    func head(_ size: Int) -> String {
      let frame = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \r\n\r\n"
      return frame.replacing("X: ", with: "X: " + String(repeating: "a", count: size - frame.utf8.count))
    }
    let fits = try await exchange(.once(head(2048))) { $0.maximumHeaderSize = 2048 }
    #expect(fits.error == nil)
    #expect(fits.head?.bytes.count == 2048)
    let tooLarge = try await exchange(.once(head(2049))) { $0.maximumHeaderSize = 2048 }
    #expect(tooLarge.error?.kind == .headTooLarge)
    #expect(tooLarge.heads.isEmpty)
    // libcurl takes no line of more than 100 KiB.
    let longLine = try await exchange(.once(head(200_000)))
    #expect(longLine.error?.kind == (isOwnEngine ? nil : .headTooLarge))
    let manyLines = String(repeating: "X-Field: \(String(repeating: "v", count: 1000))\r\n", count: 400)
    let many = try await exchange(.once("HTTP/1.1 200 OK\r\n\(manyLines)\r\n"))
    #expect(many.error?.kind == .headTooLarge)
  }

  @Test
  func trailersAreBounded() async throws {
    let trailer = "X: \(String(repeating: "a", count: 1000))\r\n"
    let outcome = try await exchange(
      Script(.head, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"), .forever([.send(trailer)]))
    ) { $0.maximumHeaderSize = 4096 }
    #expect(outcome.error?.kind == .headTooLarge)
    #expect(outcome.heads.count == 1)
  }

  @Test
  func largeBody() async throws {
    let body = String(repeating: "0123456789abcdef", count: 500_000)
    let outcome = try await exchange(.once(okResponse(body)))
    #expect(outcome.error == nil)
    #expect(outcome.body.count == 8_000_000)
    #expect(outcome.report?.bytesReceivedOnWire == 8_000_000)
  }

  @Test
  func stoppedByTheDelegate() async throws {
    let server = try ScriptedServer(Script(.head, .send(okResponse("hello")), .awaitClose))
    let rig = try await EngineRig()
    let atHead = await rig.transfer(TransferSpec(url: server.url)) { $0.onHead = { _, _ in .stop } }
    #expect(atHead.error?.kind == .stopped)
    #expect(atHead.body.isEmpty)
    let atBody = await rig.transfer(TransferSpec(url: server.url)) { $0.onBody = { _, _ in .stop } }
    #expect(atBody.error?.kind == .stopped)
    #expect(atBody.bodyCalls == 1)
    await rig.close()
  }
}
