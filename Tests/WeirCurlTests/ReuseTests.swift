import Foundation
import Testing
import WeirCurl
import WeirTestSupport
import WeirTransport

@testable import WeirHTTP1

/// Connections that their server ends while they are idle, as they are used again, or after the next request was sent.
@Suite(.timeLimit(.minutes(5)))
struct ReuseTests {
  enum End: CaseIterable, Sendable {
    case fin, reset

    var step: Script.Step { self == .fin ? .close : .reset }
  }

  @Test(arguments: End.allCases, ["GET", "POST"])
  func endWhileIdle(end: End, method: String) async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), .wait(gate), end.step), .answering(okResponse("two")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    gate.open()
    #expect(await eventually { await rig.onEngine { $0.openConnections } == 0 })
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: method))
    #expect(outcome.text == "two", "\(outcome)")
    #expect(outcome.report?.staleRetries == 0)
    #expect(outcome.report?.isReusedConnection == false)
    await rig.close()
  }

  /// The end has arrived, and the loop has not looked at it: it has been held up since. Nothing was sent of a POST, so it
  /// goes by another connection.
  @Test(.enabled(if: isOwnEngine), arguments: End.allCases, ["GET", "POST"])
  func endAheadOfTheLoop(end: End, method: String) async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), .wait(gate), end.step), .answering(okResponse("two")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let running = Running(loop: rig.loop)
    await rig.onEngine { engine in
      gate.open()
      while server.finishedCount == 0 {}
      // The system may be late with the end.
      while let connection = engine.own?.connections.first, connection?.isUsable == true {}
      running.start(TransferSpec(url: server.url, method: method), PreparedHeaders(lines: []), engine) { _ in }
    }
    let outcome = await running.outcome
    #expect(outcome.text == "two", "\(outcome)")
    #expect(outcome.report?.isReusedConnection == false)
    // The server may give up on the gate on a busy machine, ahead of the loop.
    #expect([0, 1].contains(outcome.report?.staleRetries))
    #expect(server.receivedText().components(separatedBy: "HTTP/1.1").count == 2, "nothing was sent on the first one")
    await rig.close()
  }

  /// The end comes with the first byte of the next head, or once the head is there.
  @Test(arguments: End.allCases, [false, true])
  func endAsARequestArrives(end: End, isHeadRead: Bool) async throws {
    let read: Script.Step = isHeadRead ? .head : .swallow(1)
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), read, end.step), .answering(okResponse("two")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let outcome = await rig.get(server.url)
    #expect(outcome.text == "two", "\(outcome)")
    #expect(outcome.finishes == 1)
    #expect(outcome.report?.staleRetries == 1)
    #expect(outcome.report?.isReusedConnection == false)
    #expect(outcome.report?.connectionsOpened == 1)
    #expect(server.connectionCount == 2)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test(arguments: End.allCases, [false, true])
  func endAsAPostArrives(end: End, isHeadRead: Bool) async throws {
    let read: Script.Step = isHeadRead ? .head : .swallow(1)
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), read, end.step),
      Script(.call { Issue.record("a second connection") }, .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: "POST"))
    #expect(outcome.error?.label == "connection_lost")
    #expect(outcome.finishes == 1)
    #expect(outcome.report?.staleRetries == 0)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// A request is sent once more, and that on a connection of its own: if that one ends as well, the request has failed.
  @Test(arguments: End.allCases)
  func theFreshConnectionEndsToo(end: End) async throws {
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), .head, end.step), Script(.head, end.step),
      Script(.call { Issue.record("a third connection") }, .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let outcome = await rig.get(server.url)
    #expect(outcome.error?.kind == .curl)
    #expect(outcome.report?.staleRetries == 1)
    #expect(outcome.finishes == 1)
    await rig.close()
  }

  /// Once a byte of the response was there, no request is sent again. A reset could overtake that byte.
  @Test(.enabled(if: isOwnEngine)) func endWithinTheResponse() async throws {
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("one")), .head, .send("H")),
      Script(.call { Issue.record("a second connection") }, .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let outcome = await rig.get(server.url)
    #expect(outcome.error != nil)
    #expect(outcome.report?.staleRetries == 0)
    await rig.close()
  }
}

/// The same on TLS: closed with close_notify, cut without it, or reset.
@Suite(.slow, .timeLimit(.minutes(5)), .enabled(if: TLSUpstream.isInstalled))
struct ReuseOnTLSTests {
  @Test(arguments: ["1.2", "1.3"], ["close", "cut", "reset"])
  func endWhileIdle(version: String, end: String) async throws {
    let upstream = try await TLSUpstream(version)
    let rig = try await upstream.rig()
    for method in ["GET", "POST"] {
      #expect(await rig.get(upstream.url(end, okResponse("one"))).text == "one")
      #expect(await eventually { await rig.onEngine { $0.openConnections } == 0 })
      let outcome = await rig.transfer(TransferSpec(url: upstream.url(end, okResponse("two")), method: method))
      #expect(outcome.text == "two", "\(outcome)")
      #expect(outcome.report?.staleRetries == 0)
      #expect(await eventually { await rig.onEngine { $0.openConnections } == 0 })
    }
    await rig.close()
  }

  @Test(arguments: ["1.2", "1.3"], ["close", "cut", "reset"])
  func endAsARequestArrives(version: String, end: String) async throws {
    let upstream = try await TLSUpstream(version)
    let rig = try await upstream.rig()
    #expect(await rig.get(upstream.url("keep", okResponse("one"))).text == "one")
    let outcome = await rig.get(upstream.url("die-\(end)", okResponse("two")))
    #expect(outcome.text == "two", "\(outcome)")
    #expect(outcome.report?.staleRetries == 1)
    #expect(outcome.report?.isReusedConnection == false)
    let post = await rig.transfer(
      TransferSpec(url: upstream.url("die-\(end)", okResponse("three")), method: "POST", body: .bytes([1, 2, 3])))
    #expect(post.error?.label == "connection_lost", "\(post)")
    #expect(post.report?.staleRetries == 0)
    #expect(rig.counts.value.opened == 2)
    await rig.close()
    #expect(rig.counts.open == 0)
  }
}
