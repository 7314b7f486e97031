import Testing
import WeirCurl
import WeirIO
import WeirTestSupport

/// Holding a transfer back in either direction, and the silence timeout.
@Suite(.slow, .timeLimit(.minutes(5)))
struct PauseTests {
  private static let large = String(repeating: "0123456789", count: 400_000)

  @Test
  func bodyComesAgainAfterPause() async throws {
    let server = try ScriptedServer(.answering(okResponse(Self.large)))
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: server.url)) { recorder in
      recorder.onBody = { _, _ in recorder.outcome.bodyCalls % 2 == 1 ? .pause : .proceed }
    }
    while !running.isFinished {
      await running.onTransfer { transfer, _ in transfer.resumeReceiving() }
    }
    let outcome = await running.outcome
    #expect(outcome.error == nil)
    #expect(outcome.text == Self.large)
    await rig.close()
  }

  @Test
  func pausedReceivesNothing() async throws {
    let server = try ScriptedServer(.answering(okResponse(Self.large)))
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: server.url)) { recorder in
      recorder.onHead = { transfer, _ in
        transfer.pauseReceiving()
        return .proceed
      }
    }
    #expect(await eventually { await running.soFar().heads.count == 1 })
    // The loop goes on: another transfer comes and goes meanwhile.
    #expect(await rig.get(server.url).error == nil)
    #expect(await running.soFar().bodyCalls == 0)
    await running.onTransfer { transfer, _ in transfer.resumeReceiving() }
    #expect(await running.outcome.text == Self.large)
    await rig.close()
  }

  @Test
  func pauseAtTheHeadHoldsTheEndBack() async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 204 None\r\n\r\n"))
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: server.url)) { $0.onHead = { _, _ in .pause } }
    #expect(await eventually { await running.soFar().heads.count == 1 })
    #expect(await rig.transfer(TransferSpec(url: server.url)).error == nil)
    #expect(!running.isFinished)
    await running.onTransfer { transfer, _ in transfer.resumeReceiving() }
    #expect(await running.outcome.error == nil)
    #expect(await rig.onEngine { $0.activeTransfers } == 0)
    await rig.close()
  }

  @Test
  func cancelWhilePaused() async throws {
    let server = try ScriptedServer(.answering(okResponse(Self.large)), .answering("HTTP/1.1 204 None\r\n\r\n"))
    let rig = try await EngineRig()
    for _ in 0..<2 {
      let running = await rig.start(TransferSpec(url: server.url)) { $0.onHead = { _, _ in .pause } }
      #expect(await eventually { await running.soFar().heads.count == 1 })
      await running.onTransfer { transfer, _ in
        transfer.cancel()
        transfer.resumeReceiving()
      }
      let outcome = await running.outcome
      #expect(outcome.error?.kind == .cancelled)
      #expect(outcome.finishes == 1)
      #expect(outcome.bodyCalls == 0)
    }
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test(arguments: [nil, 500_000] as [Int64?])
  func sendingInSteps(length: Int64?) async throws {
    let wire: Script.Step = length == nil ? .chunkedBody : .bytes(500_000)
    let server = try ScriptedServer(Script(.head, wire, .send(okResponse("got it")), .awaitClose))
    let rig = try await EngineRig()
    let spec = TransferSpec(url: server.url, method: "PUT", body: .pulled(length: length))
    let running = await rig.start(spec) { recorder in
      recorder.source = [UInt8](repeating: 7, count: 500_000)
      var isReady = false
      recorder.onProvide = { _, buffer in
        isReady.toggle()
        if isReady { return .pause }
        let count = recorder.source.copyBytes(from: recorder.position, to: buffer)
        recorder.position += count
        return count > 0 ? .bytes(count) : .end
      }
    }
    while !running.isFinished {
      await running.onTransfer { transfer, _ in transfer.resumeSending() }
    }
    let outcome = await running.outcome
    #expect(outcome.error == nil)
    #expect(outcome.text == "got it")
    #expect(outcome.report?.bytesSent == 500_000)
    await rig.close()
  }

  @Test
  func pauseSendingFromOutside() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.head, .bytes(1), .wait(gate), .bytes(9_999_999), .send(okResponse("ok")), .awaitClose))
    let rig = try await EngineRig()
    let spec = TransferSpec(url: server.url, method: "PUT", body: .pulled(length: 10_000_000))
    let running = await rig.start(spec) { $0.source = [UInt8](repeating: 7, count: 10_000_000) }
    #expect(await eventually { server.received().count > 100 })
    await running.onTransfer { transfer, _ in transfer.pauseSending() }
    gate.open()
    #expect(await eventually { await running.onTransfer { transfer, _ in transfer.report().bytesSent } ?? 0 > 0 })
    #expect(!running.isFinished)
    await running.onTransfer { transfer, _ in transfer.resumeSending() }
    #expect(await running.outcome.error == nil)
    await rig.close()
  }

  @Test
  func bothDirectionsAtOnce() async throws {
    // The answer begins before the request has ended, and each waits for the other.
    let server = try ScriptedServer(
      Script(
        .head, .bytes(10), .send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789"), .bytes(10),
        .send("9876543210"), .awaitClose))
    let rig = try await EngineRig()
    let spec = TransferSpec(url: server.url, method: "POST", body: .pulled(length: 20))
    let running = await rig.start(spec) { recorder in
      var mayGoOn = true
      recorder.onBody = { transfer, _ in
        mayGoOn = true
        transfer.resumeSending()
        return .proceed
      }
      recorder.onProvide = { _, buffer in
        guard mayGoOn else { return .pause }
        mayGoOn = false
        return .bytes(10)
      }
    }
    let outcome = await running.outcome
    #expect(outcome.error == nil)
    #expect(outcome.text == "01234567899876543210")
    await rig.close()
  }

  @Test
  func silence() async throws {
    let hole = try BlackHole()
    let stalling = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), .awaitClose))
    let rig = try await EngineRig()
    for url in [hole.url, stalling.url] {
      let outcome = await rig.transfer(TransferSpec(url: url, silenceTimeout: 0.1))
      #expect(outcome.error?.kind == .silence)
      let total = try #require(outcome.report?.total)
      #expect(total >= 0.1 && total < 5)
    }
    #expect(rig.counts.open == 0)
    await rig.close()
  }

  /// Of two transfers one gets a limit with its head, and one loses it. The first measures the time for the second.
  @Test
  func theLimitOfSilenceMayChangeOnTheWay() async throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", gate = Gate()
    let stalling = try ScriptedServer(Script(.head, .send(head), .wait(gate), .send("-whole"), .awaitClose))
    let rig = try await EngineRig()
    let free = await rig.start(TransferSpec(url: stalling.url, silenceTimeout: 0.5)) { recorder in
      recorder.onHead = { transfer, _ in
        transfer.limitSilence(to: 0)
        return .proceed
      }
    }
    let bound = await rig.transfer(TransferSpec(url: stalling.url)) { recorder in
      recorder.onHead = { transfer, _ in
        transfer.limitSilence(to: 1)
        return .proceed
      }
    }
    #expect(bound.error?.kind == .silence)
    #expect(bound.error?.message == "nothing was sent or received for 1.0 s")
    gate.open()
    let outcome = await free.outcome
    #expect(outcome.error == nil)
    #expect(outcome.text == "half-whole")
    await rig.close()
  }

  @Test
  func dripIsNoSilence() async throws {
    let server = try ScriptedServer(
      Script(.head, .drip(okResponse(String(repeating: "0123456789", count: 6)), every: 0.025), .awaitClose))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(TransferSpec(url: server.url, silenceTimeout: 1.5))
    #expect(outcome.error == nil)
    #expect(try #require(outcome.report?.total) > 2)
    await rig.close()
  }

  @Test
  func dripWithinALineIsNoSilence() async throws {
    let head = "HTTP/1.1 200 OK\r\nX: \(String(repeating: "0123456789", count: 6))\r\nContent-Length: 2\r\n\r\n"
    let server = try ScriptedServer(Script(.forever([.head, .drip(head, every: 0.025), .send("ok")])))
    let rig = try await EngineRig()
    for _ in 0..<2 {
      let outcome = await rig.transfer(TransferSpec(url: server.url, silenceTimeout: 1.5))
      #expect(outcome.error == nil)
      #expect(try #require(outcome.report?.total) > 2)
    }
    #expect(server.connectionCount == 1)
    await rig.close()
  }

  @Test
  func uploadThatNobodyReadsIsSilence() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.head, .wait(gate)))
    let rig = try await EngineRig()
    let body = [UInt8](repeating: 1, count: 30_000_000)
    let outcome = await rig.transfer(
      TransferSpec(url: server.url, method: "PUT", body: .bytes(body), silenceTimeout: 0.3))
    #expect(outcome.error?.kind == .silence)
    #expect(try #require(outcome.report?.bytesSent) < 30_000_000)
    gate.open()
    await rig.close()
  }

  @Test
  func ourOwnPauseIsNoSilence() async throws {
    let server = try ScriptedServer(.answering(okResponse(Self.large)))
    let rig = try await EngineRig()
    let receiving = await rig.start(TransferSpec(url: server.url, silenceTimeout: 1)) { recorder in
      recorder.onHead = { _, _ in .pause }
    }
    let hole = try BlackHole()
    let spec = TransferSpec(
      url: hole.url, method: "PUT", body: .pulled(length: 10), silenceTimeout: 1)
    let sending = await rig.start(spec) { $0.onProvide = { _, _ in .pause } }
    // Another transfer measures the time: it is silent for twice as long.
    #expect(await rig.transfer(TransferSpec(url: hole.url, silenceTimeout: 2)).error?.kind == .silence)
    #expect(!receiving.isFinished)
    #expect(!sending.isFinished)
    await receiving.onTransfer { transfer, _ in transfer.resumeReceiving() }
    #expect(await receiving.outcome.error == nil)
    await rig.close()
  }
}
