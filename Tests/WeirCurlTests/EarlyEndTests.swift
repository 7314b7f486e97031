import Testing
import WeirCurl
import WeirHTTP
import WeirTestSupport

/// Ends of exchanges whose request is not sent to its end.
@Suite(.timeLimit(.minutes(5)))
struct EarlyEndTests {
  /// libcurl's engine waits for a source that has paused.
  @Test("A response that closes the connection ends an upload that has no end", .enabled(if: isOwnEngine))
  func responseThatCloses() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), .wait(gate)))
    defer { gate.open() }
    let rig = try await EngineRig()
    let spec = TransferSpec(url: server.url, method: "POST", body: .pulled(length: 10))
    let outcome = await rig.transfer(spec) { $0.onProvide = { _, _ in .pause } }
    #expect(outcome.error == nil)
    #expect(outcome.text == "ok")
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// While there is nothing to send, libcurl 7.88.1 does not notice that the connection has ended.
  @Test(
    "A body that waited for its source is sent again from its beginning",
    .enabled(if: isOwnEngine || CurlLibrary.noticesTruncation))
  func bodyThatWaited() async throws {
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), .head, .bytes(5), .close),
      Script(.head, .bytes(10), .send(okResponse("two")), .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let spec = TransferSpec(url: server.url, method: "PUT", body: .pulled(length: 10))
    let outcome = await rig.transfer(spec) { recorder in
      var position = 0
      recorder.onProvide = { _, buffer in
        // The first time there are five bytes, after the rewind all ten.
        let end = recorder.outcome.rewinds == 0 ? 5 : 10
        if recorder.outcome.rewinds == 1, position == 5 { position = 0 }
        guard position < end else { return .pause }
        let count = min(buffer.count, end - position)
        for index in 0..<count { buffer[index] = UInt8(ascii: "x") }
        position += count
        return .bytes(count)
      }
    }
    #expect(outcome.error == nil)
    #expect(outcome.text == "two")
    #expect(outcome.rewinds == 1)
    await rig.close()
  }

  /// Provides the first 1,000 bytes of a body, and nothing more.
  private static func provideSome(_ recorder: Recorder) {
    recorder.source = Array(repeating: 7, count: 1000)
    recorder.onProvide = { [unowned recorder] _, buffer in
      let count = recorder.source.copyBytes(from: recorder.position, to: buffer)
      recorder.position += count
      return count > 0 ? .bytes(count) : .pause
    }
  }

  /// A server that takes the end of our side for an abort would drop the rest of its response (RFC 9112 §9.5, §9.6).
  @Test("A refusal is read to its end before our side of the connection ends", .enabled(if: isOwnEngine))
  func refusalIsReadWhole() async throws {
    let begun = Gate()
    let server = try ScriptedServer(
      Script(
        .head, .bytes(1000), .send("HTTP/1.1 413 x\r\nContent-Length: 4\r\n\r\nwh"), .wait(begun), .drain, .send("y?"),
        .awaitClose))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: "POST", body: .pulled(length: 3000))) {
      recorder in
      Self.provideSome(recorder)
      recorder.onBody = { _, _ in
        begun.open()
        return .proceed
      }
    }
    #expect(outcome.error == nil)
    #expect(outcome.head?.status == 413 && outcome.text == "why?")
    #expect(await eventually { server.closedByClientCount == 1 }, "the rest of the body is owed, so it is not reused")
    #expect(rig.counts.open == 0)
    await rig.close()
  }

  /// libcurl's engine waits for the server to take the rest, and fails.
  @Test("A server that has answered, and reads nothing more, has answered", .enabled(if: isOwnEngine))
  func answerWithoutReading() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("ok")), .wait(gate)), .answering(okResponse("again")))
    defer { gate.open() }
    let rig = try await EngineRig()
    let body = [UInt8](repeating: 7, count: 8 << 20)
    let outcome = await rig.transfer(
      TransferSpec(url: server.url, method: "POST", body: .bytes(body), silenceTimeout: 0.3))
    #expect(outcome.error == nil)
    #expect(outcome.text == "ok")
    #expect(rig.counts.open == 0, "the rest of the body is owed, so it is not reused")
    #expect(await rig.get(server.url).text == "again")
    await rig.close()
  }

  /// Such bytes are no progress of the exchange.
  @Test("Bytes behind an early response end the upload", .enabled(if: isOwnEngine))
  func bytesBehindAnAnswer() async throws {
    let answered = Gate(), gate = Gate()
    let server = try ScriptedServer(Script(.head, .send(okResponse("ok")), .wait(answered), .send("x"), .wait(gate)))
    defer { gate.open() }
    let rig = try await EngineRig()
    let body = [UInt8](repeating: 7, count: 8 << 20)
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: "POST", body: .bytes(body))) { recorder in
      recorder.onBody = { _, _ in
        answered.open()
        return .proceed
      }
    }
    #expect(outcome.error == nil)
    #expect(outcome.text == "ok")
    #expect(rig.counts.open == 0)
    await rig.close()
  }

  /// The server may have taken the end of our side for an abort, and dropped the rest of the response.
  @Test("A response without a length that ends behind our side is not proven", .enabled(if: isOwnEngine))
  func responseBehindOurEnd() async throws {
    let server = try ScriptedServer(
      Script(.head, .bytes(1000), .send("HTTP/1.1 413 x\r\nContent-Type: a/b\r\n\r\nhalf"), .awaitEnd, .close))
    let rig = try await EngineRig()
    let spec = TransferSpec(url: server.url, method: "POST", body: .pulled(length: 3000))
    let outcome = await rig.transfer(spec, Self.provideSome)
    #expect(outcome.error?.kind == .unprovableEnd)
    #expect(outcome.head?.status == 413 && outcome.text == "half")
    await rig.close()
  }

  /// Bytes in memory that are fewer than their number says.
  private struct ShortBytes: TransferBytes {
    let count = 10

    func copyBytes(from offset: Int, to buffer: UnsafeMutableRawBufferPointer) -> Int {
      Array("short".utf8).copyBytes(from: offset, to: buffer)
    }
  }

  /// The server would take the head of the next request for the rest of the body.
  @Test(
    "A body that is shorter than its length is not sent, and no request follows on its connection",
    .enabled(if: isOwnEngine), arguments: [false, true])
  func shortBody(isReused: Bool) async throws {
    let server = try ScriptedServer(.answering(okResponse("fine")))
    let rig = try await EngineRig()
    if isReused { #expect(await rig.get(server.url).text == "fine") }
    let before = server.received().count
    let spec = TransferSpec(url: server.url, method: "PUT", body: .bytes(ShortBytes()))
    let outcome = await rig.transfer(spec)
    #expect(outcome.error?.kind == .bodyUnavailable)
    #expect(outcome.heads.isEmpty && outcome.finishes == 1)
    #expect(outcome.report?.bytesSent == 0)
    #expect(await eventually { server.closedByClientCount == 1 })
    #expect(server.received().count == before)
    #expect(await rig.get(server.url).text == "fine")
    #expect(server.connectionCount == 2)
    await rig.close()
    #expect(rig.counts.open == 0)
  }
}
