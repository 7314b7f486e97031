import Foundation
import Testing
import WeirCurl
import WeirHTTP
import WeirIO
import WeirTestSupport

/// Upstreams that answer what nobody asked, or in a shape that libcurl can't bear.
@Suite(.slow, .timeLimit(.minutes(5)))
struct HostileUpstreamTests {
  /// libcurl 7.88.1 keeps a pointer to the last field of a handle's earlier response, and continues that one.
  @Test(arguments: [" A: b", "\tA: b", "  ", "\t"])
  func headThatBeginsWithABlank(line: String) async throws {
    let padding = (0..<20).map { "X-\($0): \(String(repeating: "v", count: 40 * $0))\r\n" }.joined()
    let server = try ScriptedServer(
      Script(
        .head, .send(okResponse("one", padding)), .head,
        .send("HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 0\r\n\(padding)\r\n"), .awaitClose))
    let rig = try await EngineRig()
    for _ in 0..<3 {
      #expect(await rig.get(server.url).text == "one")
      let outcome = await rig.get(server.url)
      #expect(outcome.finishes == 1)
      #expect([.malformedHead, .curl].contains(outcome.error?.kind))
      #expect(outcome.heads.isEmpty)
    }
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// Bytes on an idle connection are nobody's answer.
  @Test(arguments: [
    okResponse("stray"), "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "x",
    String(repeating: okResponse(String(repeating: "s", count: 1000)), count: 200),
  ])
  func bytesOnAnIdleConnection(stray: String) async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), .wait(gate), .send(stray), .awaitClose), .answering(okResponse("two")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    gate.open()
    // The engine hears of the bytes and shuts the connection down, so that libcurl's next look finds it dead.
    #expect(await eventually { server.finishedCount == 1 })
    #expect(await eventually { rig.counts.open == 0 })
    let outcome = await rig.get(server.url)
    #expect(outcome.text == "two")
    #expect(outcome.report?.staleRetries == 0)
    await rig.close()
  }

  /// The same on a connection on which nobody ever waited to read: its response was there at once.
  @Test
  func bytesOnAConnectionThatWasNeverWaitedFor() async throws {
    let (sent, gate) = (Gate(), Gate())
    let server = try ScriptedServer(
      Script(.send(okResponse("one")), .call { sent.open() }, .head, .wait(gate), .send("stray"), .awaitClose))
    // Held up, once it is connected, until the response is there: the engine sends the request and reads in one go.
    let rig = try await EngineRig(onConnection: { sent.wait() })
    #expect(await rig.get(server.url).text == "one")
    gate.open()
    let began = MonotonicTime.now
    #expect(await eventually { server.finishedCount == 1 })
    #expect(MonotonicTime.now.seconds(since: began) < 8, "sooner than the pruner would come across it")
    await rig.close()
  }

  /// The same, when the next request takes the connection before the loop has looked at it.
  @Test(arguments: [okResponse("stray"), "x"])
  func bytesAsTheNextRequestTakesTheConnection(stray: String) async throws {
    let (gate, sent) = (Gate(), Gate())
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), .wait(gate), .send(stray), .call { sent.open() }, .awaitClose),
      .answering(okResponse("two")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    // The loop is held up until the bytes are there; the transfer that it finds then is started ahead of its next look.
    let running = Running(loop: rig.loop)
    await rig.onEngine { engine in
      gate.open()
      sent.wait()
      running.start(TransferSpec(url: server.url), PreparedHeaders(lines: []), engine) { _ in }
    }
    let outcome = await running.outcome
    #expect(outcome.error == nil)
    #expect(outcome.text == "two")
    #expect(outcome.report?.isReusedConnection == false)
    // From 8.14.1 on libcurl's engine looks itself, and such a connection is not chosen in the first place.
    #expect(outcome.report?.staleRetries == (CurlLibrary.versionNumber >= 0x080e01 && !isOwnEngine ? 0 : 1))
    #expect(!server.receivedText().dropFirst(10).contains("GET"), "nothing was sent on the first connection")
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// Nor are bytes that came together with the response.
  @Test(arguments: [
    okResponse("one"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
  ])
  func bytesBehindTheResponse(first: String) async throws {
    let server = try ScriptedServer(
      Script(.head, .send(first + okResponse("stray")), .head, .send(okResponse("two")), .awaitClose),
      .answering(okResponse("two")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).error == nil)
    #expect(await rig.get(server.url).text == "two")
    await rig.close()
  }

  /// Nor are those behind a head that libcurl calls whole and nobody else does.
  @Test
  func bytesBehindAHeadThatHasNoEnd() async throws {
    let (gate, sent) = (Gate(), Gate())
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 304 No\r\nA: b\r\n\rX: y\n"), .wait(gate), .send(okResponse("stray")),
        .call { sent.open() }, .awaitClose),
      .answering(okResponse("two")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).error != nil)
    gate.open()
    sent.wait()
    #expect(await rig.get(server.url).text == "two")
    await rig.close()
  }

  /// libcurl speaks 1.0 where 1.0 was answered, and there is no chunked body in that.
  @Test
  func http10() async throws {
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\none"), .awaitClose),
      Script(.head, .chunkedBody, .send(okResponse("two")), .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let spec = TransferSpec(url: server.url, method: "POST", body: .pulled(length: nil))
    #expect(await rig.transfer(spec).text == "two")
    #expect(await eventually { server.finishedCount >= 1 })
    await rig.close()
  }

  /// A server that wants the whole body before it ends its refusal gets to the end of what there is.
  @Test(arguments: zip([300, 404, 500], ["", "Connection: keep-alive\r\n", ""]))
  func earlyRefusal(status: Int, field: String) async throws {
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 \(status) x\r\n\(field)Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n"), .awaitEnd,
        .send("3\r\nend\r\n0\r\n\r\n")))
    let rig = try await EngineRig()
    let outcome = await rig.start(Self.pausedUpload(server)) { $0.onProvide = { _, _ in .pause } }.outcome
    #expect(outcome.error == nil)
    #expect(outcome.text == "noend")
    await rig.close()
  }

  /// Of an empty body there is nothing left to send when the refusal comes, however early: the connection stays good.
  @Test(arguments: [TransferBody.bytes([]), .pulled(length: 0)])
  func refusalOfAnEmptyBody(body: TransferBody) async throws {
    let refusal = "HTTP/1.1 503 x\r\nContent-Length: 2\r\n\r\nno"
    let sent = Gate()
    let server = try ScriptedServer(
      Script(.send(refusal), .call { sent.open() }, .head, .head, .send(refusal), .awaitClose))
    let rig = try await EngineRig(onConnection: { sent.wait() })
    for _ in 0..<2 {
      #expect(await rig.transfer(TransferSpec(url: server.url, method: "POST", body: body)).text == "no")
    }
    #expect(server.connectionCount == 1)
    await rig.close()
  }

  /// A refusal is whole also when its request is not, and nobody is going to go on with that.
  @Test(arguments: ["", "Connection: close\r\n"])
  func refusalOfAPausedUpload(field: String) async throws {
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 413 x\r\n\(field)Content-Length: 2\r\n\r\nno"), .awaitClose))
    let rig = try await EngineRig()
    let outcome = await rig.start(Self.pausedUpload(server)) { $0.onProvide = { _, _ in .pause } }.outcome
    #expect(outcome.error == nil)
    #expect(outcome.text == "no")
    await rig.close()
  }

  private static func pausedUpload(_ server: ScriptedServer) -> TransferSpec {
    TransferSpec(url: server.url, method: "PUT", body: .pulled(length: 100_000), silenceTimeout: 10)
  }

  /// A folded line (RFC 9112 §5.2) hides nothing from who reads line by line.
  @Test
  func foldedLines() async throws {
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\nA: b \t\r\n \t c\r\n\td\nContent-Length: 0\r\n\r\n"), .awaitClose))
    let rig = try await EngineRig()
    let outcome = await rig.get(server.url)
    #expect(
      outcome.heads.first.map { String(decoding: $0.bytes, as: UTF8.self) }
        == "HTTP/1.1 200 OK\r\nA: b c d\nContent-Length: 0\r\n\r\n")
    await rig.close()
  }

  /// A paused transfer's socket is readable and not idle.
  @Test
  func pausedTransfersKeepTheirConnection() async throws {
    let body = String(repeating: "0123456789abcdef", count: 100_000)
    let server = try ScriptedServer(.answering(okResponse(body)))
    let rig = try await EngineRig()
    for _ in 0..<3 {
      let running = await rig.start(TransferSpec(url: server.url)) { $0.onHead = { _, _ in .pause } }
      #expect(await eventually { await running.soFar().heads.count == 1 })
      for _ in 0..<20 { await rig.onEngine { _ in } }
      await running.onTransfer { transfer, recorder in transfer.resumeReceiving() }
      let outcome = await running.outcome
      #expect(outcome.error == nil)
      #expect(outcome.body.count == body.utf8.count)
    }
    #expect(server.connectionCount == 1)
    await rig.close()
  }
}
