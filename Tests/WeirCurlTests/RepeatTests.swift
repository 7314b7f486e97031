import Synchronization
import Testing
import WeirCurl
import WeirHTTP
import WeirTestSupport

/// A pooled connection that ends without an answer: what may be sent again, and what may not (RFC 9110 §9.2.2).
@Suite(.timeLimit(.minutes(5)))
struct RepeatTests {
  /// A body, and how the server reads it.
  struct Sent: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let body: TransferBody
    let steps: [Script.Step]
  }

  private static let bodies = [
    Sent(testDescription: "none", body: .none, steps: []),
    Sent(testDescription: "inline", body: .bytes([1, 2, 3]), steps: [.bytes(3)]),
    Sent(testDescription: "pulled", body: .pulled(length: 3), steps: [.bytes(3)]),
    Sent(testDescription: "chunked", body: .pulled(length: nil), steps: [.chunkedBody]),
    Sent(
      testDescription: "large", body: .bytes([UInt8](repeating: 7, count: 100_000)), steps: [.bytes(100_000)]),
  ]

  private static func once(_ sent: Sent) -> Script {
    Script(.head, .send(okResponse("one")), .head, .steps(sent.steps), .close)
  }

  @Test(arguments: ["POST", "PATCH", "LOCK", "post"], bodies)
  func unsafeMethodsGoOnce(method: String, sent: Sent) async throws {
    let server = try ScriptedServer(Self.once(sent), Script(.call { Issue.record("a second connection") }, .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: method, body: sent.body)) {
      $0.source = [1, 2, 3]
    }
    #expect(outcome.finishes == 1)
    #expect(outcome.error?.kind == .connectionLost)
    #expect(outcome.error?.message.contains("may have processed it") == true)
    #expect(outcome.report?.staleRetries == 0)
    #expect(server.connectionCount == 1)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// It is the connection that is lost, not the body.
  @Test
  func unsafeMethodWithABodyThatCannotStartAnew() async throws {
    let server = try ScriptedServer(Script(.head, .send(okResponse("one")), .head, .bytes(3), .close))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let spec = TransferSpec(url: server.url, method: "POST", body: .pulled(length: 3))
    let outcome = await rig.transfer(spec) { recorder in
      recorder.source = [1, 2, 3]
      recorder.onRewind = { false }
    }
    #expect(outcome.error?.kind == .connectionLost)
    await rig.close()
  }

  /// Whoever had nothing more to give when the connection ended has, for the next one, what it gave at first. 7.88.1 doesn't
  /// notice the end before there is more to send.
  @Test(.enabled(if: CurlLibrary.noticesTruncation)) func aBodyThatHadPausedIsAskedForAgain() async throws {
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), .head, .bytes(1), .close),
      Script(.head, .bytes(3), .send(okResponse("two")), .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: "PUT", body: .pulled(length: 3))) {
      recorder in
      var (asked, isWhole) = (0, false)
      recorder.onRewind = {
        isWhole = true
        return true
      }
      recorder.onProvide = { _, buffer in
        asked += 1
        let count = isWhole ? 3 : 1
        if !isWhole, asked > 1 { return .pause }
        for index in 0..<count { buffer[index] = 7 }
        return .bytes(count)
      }
    }
    #expect(outcome.error == nil)
    #expect(outcome.text == "two")
    #expect(outcome.rewinds == 1)
    #expect(server.receivedText(on: 1).utf8.count { $0 == 7 } == 3)
    await rig.close()
  }

  @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"])
  func idempotentMethodsGoAgain(method: String) async throws {
    let hasBody = method == "PUT" || method == "QUERY"
    let body: TransferBody = hasBody ? .bytes([1, 2, 3]) : .none
    let read: [Script.Step] = hasBody ? [.bytes(3)] : []
    let answer = method == "HEAD" ? "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" : okResponse("two")
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), .head, .steps(read), .close),
      Script(.head, .steps(read), .send(answer), .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: method, body: body))
    #expect(outcome.error == nil)
    #expect(outcome.head?.status == 200)
    #expect(outcome.report?.staleRetries == 1)
    #expect(server.connectionCount == 2)
    await rig.close()
  }

  /// A pooled connection that was closed in time costs nothing: nothing is sent on it.
  @Test
  func closedBeforeTheRequest() async throws {
    let server = try ScriptedServer(.once(okResponse("one")), Script(.request, .send(okResponse("two")), .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    #expect(await eventually { server.finishedCount == 1 })
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: "POST", body: .bytes([1, 2, 3])))
    #expect(outcome.text == "two")
    await rig.close()
  }

  /// A 417 is an answer: the second request is not a stale retry.
  @Test
  func refusedExpectation() async throws {
    let server = try ScriptedServer(
      Script(
        .head, .send(okResponse("one")), .head,
        .send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"), .request, .send(okResponse("two")),
        .awaitClose), Script(.request, .send(okResponse("two")), .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let outcome = await rig.transfer(
      TransferSpec(url: server.url, method: "POST", body: .bytes([1, 2, 3])), headers: ["Expect: 100-continue"])
    #expect(outcome.text == "two")
    #expect(outcome.report?.staleRetries == 0)
    await rig.close()
  }
}
