import Glibc
import Synchronization
import Testing
import WeirCurl
import WeirIO
import WeirTestSupport

/// Transfers whose user takes nothing for a while.
@Suite(.slow, .timeLimit(.minutes(5)))
struct PausedTransferTests {
  /// Waits until the loop takes next to no CPU for two seconds.
  private static func comesToRest(_ rig: EngineRig) async throws {
    let most = ThisProcess.isSanitized ? 0.2 : 0.02
    try await eventually("the loop is at rest") {
      let before = await rig.cpu
      try await letPass(2)
      return await rig.cpu - before <= most
    }
  }

  private static func pause(_ count: Int, of url: String, on rig: EngineRig) async throws -> [Running] {
    var running: [Running] = []
    for index in 0..<count {
      running.append(
        await rig.start(TransferSpec(url: url, silenceTimeout: 60)) { recorder in
          if index % 2 == 0 {
            recorder.onHead = { _, _ in .pause }
          } else {
            recorder.onBody = { _, _ in .pause }
          }
        })
    }
    for transfer in running { #expect(await eventually { await transfer.soFar().heads.count == 1 }) }
    return running
  }

  @Test func twoHundredPausedTransfersCostNothing() async throws {
    let server = try ScriptedServer(.answering(okResponse(String(repeating: "x", count: 8_000_000))))
    let rig = try await EngineRig()
    let running = try await Self.pause(200, of: server.url, on: rig)
    try await Self.comesToRest(rig)
    #expect(running.allSatisfy { !$0.isFinished })
    await rig.close()
    server.stop()
  }

  @Test(.enabled(if: TLSUpstream.isInstalled))
  func twoHundredPausedTransfersOnTLSCostNothing() async throws {
    let upstream = try await TLSUpstream()
    let rig = try await upstream.rig()
    let url = upstream.url("keep", "HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n#2000000")
    let running = try await Self.pause(200, of: url, on: rig)
    try await Self.comesToRest(rig)
    #expect(running.allSatisfy { !$0.isFinished })
    await rig.close()
  }

  @Test(arguments: [Script.Step.reset, .close, .halfClose])
  func anEndDuringAPauseCostsNothing(end: Script.Step) async throws {
    let (gate, ended) = (Gate(), Gate())
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nsome"), .wait(gate), .call { ended.open() },
        end,
        .awaitClose))
    let rig = try await EngineRig()
    let running = try await Self.pause(20, of: server.url, on: rig)
    gate.open()
    ended.wait()
    try await Self.comesToRest(rig)
    for transfer in running {
      #expect(!transfer.isFinished)
      await transfer.onTransfer { transfer, recorder in
        recorder.onBody = nil
        transfer.resumeReceiving()
      }
      let outcome = await transfer.outcome
      #expect(outcome.error != nil)
      #expect(outcome.finishes == 1)
    }
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// The peer has closed the connection by the time the user goes on, in every framing of the body.
  @Test(arguments: [0, 1, 2], [false, true])
  func allBytesComeThoughThePeerHasClosed(framing: Int, atHead: Bool) async throws {
    let body = String(repeating: "0123456789", count: 10_000)
    let server = try ScriptedServer(.once(Self.response(body, framing)))
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: server.url)) { Self.pause($0, atHead: atHead) }
    #expect(await eventually { await running.soFar().heads.count == 1 })
    #expect(await eventually { server.finishedCount == 1 })
    #expect(!running.isFinished)
    await Self.resume(running)
    let outcome = await running.outcome
    #expect(outcome.error == nil)
    #expect(outcome.text == body)
    await rig.close()
  }

  @Test(.enabled(if: TLSUpstream.isInstalled), arguments: [0, 1, 2], [false, true])
  func allBytesComeThoughThePeerHasClosedTLS(framing: Int, atHead: Bool) async throws {
    // libcurl's engine can't prove the end of such a body below 8.14.1.
    guard isOwnEngine || framing < 2 || CurlLibrary.noticesTruncation else { return }
    let body = String(repeating: "0123456789", count: 500)
    let upstream = try await TLSUpstream()
    let rig = try await upstream.rig()
    let end = framing == 2 ? "close" : "cut"
    let running = await rig.start(TransferSpec(url: upstream.url(end, Self.response(body, framing)))) {
      Self.pause($0, atHead: atHead)
    }
    #expect(await eventually { await running.soFar().heads.count == 1 })
    // Another request measures the time by which the connection's end is there.
    #expect(await rig.get(upstream.url("keep", "~", okResponse("other"))).text == "other")
    await Self.resume(running)
    let outcome = await running.outcome
    #expect(outcome.error == nil)
    #expect(outcome.text == body)
    await rig.close()
  }

  private static func response(_ body: String, _ framing: Int) -> String {
    switch framing {
    case 0: okResponse(body)
    case 1:
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
    default: "HTTP/1.1 200 OK\r\n\r\n\(body)"
    }
  }

  private static func pause(_ recorder: Recorder, atHead: Bool) {
    if atHead {
      recorder.onHead = { _, _ in .pause }
    } else {
      recorder.onBody = { _, _ in .pause }
    }
  }

  private static func resume(_ running: Running) async {
    await running.onTransfer { transfer, recorder in
      recorder.onBody = nil
      transfer.resumeReceiving()
    }
  }

  /// The end of a response without a body waits for its user, even if the peer has closed.
  @Test(
    .enabled(if: isOwnEngine),
    arguments: [
      "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", okResponse(""),
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ], [false, true])
  func aPauseAtTheHeadHoldsTheEnd(response: String, isClosed: Bool) async throws {
    let server = try ScriptedServer(
      isClosed ? .once(response) : Script(.head, .send(response), .awaitClose), .answering(okResponse("next")))
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: server.url)) { $0.onHead = { _, _ in .pause } }
    #expect(await eventually { await running.soFar().heads.count == 1 })
    if isClosed { #expect(await eventually { server.finishedCount == 1 }) }
    #expect(await rig.get(server.url).text == "next")
    #expect(!running.isFinished)
    await running.onTransfer { transfer, _ in transfer.resumeReceiving() }
    #expect(await running.outcome.error == nil)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// A pause from within a call that hands over what an earlier pause had kept.
  @Test(arguments: [0, 1])
  func aPauseWhileKeptBytesAreHandedOver(framing: Int) async throws {
    let body = framing == 0 ? okResponse(String(repeating: "0123456789", count: 100_000)) : Self.smallChunks
    let server = try ScriptedServer(.answering(body))
    let rig = try await EngineRig()
    let isPaused = Atomic<Bool>(false)
    let early = Atomic<Int>(0)
    let running = await rig.start(TransferSpec(url: server.url)) { recorder in
      recorder.onBody = { transfer, _ in
        if isPaused.exchange(true, ordering: .relaxed) { early.add(1, ordering: .relaxed) }
        // Every other call takes the bytes and pauses, the rest take nothing.
        if recorder.outcome.bodyCalls % 2 == 1 { return .pause }
        transfer.pauseReceiving()
        return .proceed
      }
    }
    while !running.isFinished {
      await running.onTransfer { transfer, _ in
        if isPaused.exchange(false, ordering: .relaxed) { transfer.resumeReceiving() }
      }
    }
    #expect(await running.outcome.error == nil)
    #expect(early.load(ordering: .relaxed) == 0, "nothing is handed over during a pause")
    await rig.close()
  }

  private static let smallChunks =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: "3\r\nabc\r\n", count: 100)
    + "0\r\n\r\n"
}
