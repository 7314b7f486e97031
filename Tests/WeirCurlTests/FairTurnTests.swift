import Synchronization
import Testing
import WeirCurl
import WeirIO
import WeirTestSupport

@testable import WeirHTTP1

/// A body that comes faster than it is read, or from many pieces, leaves time for the other transfers.
@Suite(.slow, .enabled(if: TLSUpstream.isInstalled && isOwnEngine), .timeLimit(.minutes(5)))
struct FairTurnTests {
  private static let piece = 8 << 20
  private static let pieces = 16

  /// The bytes that one transfer has been given in the present turn of its loop, and the most of any turn.
  private final class Turns: Sendable {
    private let seen = Mutex((turn: MonotonicTime.now, bytes: 0, most: 0))

    var most: Int { seen.withLock { $0.most } }

    func note(_ count: Int, at turn: MonotonicTime) {
      seen.withLock { seen in
        seen.bytes = seen.turn == turn ? seen.bytes + count : count
        seen.turn = turn
        seen.most = max(seen.most, seen.bytes)
      }
    }
  }

  /// The poller does not know of the bytes within the TLS library, so a timer makes the engine read on.
  @Test("A fast download over TLS takes no turn of the loop for itself")
  func download() async throws {
    let upstream = try await TLSUpstream()
    let rig = try await upstream.rig()
    // Timers that are armed: a timer may fire as often in a turn as there are timers.
    let hole = try BlackHole()
    for _ in 0..<20 { _ = await rig.start(TransferSpec(url: hole.url, silenceTimeout: 60)) }
    let (turns, isPaused) = (Turns(), Gate())
    let head = "HTTP/1.1 200 OK\r\nContent-Length: \(Self.piece * Self.pieces)\r\n\r\n"
    let url = upstream.url("keep", [head] + Array(repeating: "#\(Self.piece)", count: Self.pieces))
    let download = await rig.start(TransferSpec(url: url)) { [loop = rig.loop] recorder in
      recorder.keepsBody = false
      recorder.onHead = { _, _ in
        isPaused.open()
        return .pause
      }
      recorder.onBody = { _, bytes in
        turns.note(bytes.count, at: loop.turnTime)
        return .proceed
      }
    }
    isPaused.wait()
    // Another request measures the time by which the sockets' buffers are full.
    #expect(await rig.get(upstream.url("keep", "~", okResponse("other"))).text == "other")
    let server = try ScriptedServer(.answering(okResponse("small")))
    await download.onTransfer { transfer, _ in transfer.resumeReceiving() }
    var others = 0
    while !download.isFinished {
      #expect(await rig.get(server.url).text == "small")
      if !download.isFinished { others += 1 }
    }
    let outcome = await download.outcome
    #expect(outcome.error == nil)
    #expect(outcome.report?.bytesReceivedOnWire == Int64(Self.piece * Self.pieces))
    #expect(turns.most <= TurnShare.bytes + HTTP1Engine.bufferSize)
    #expect(others >= 10)
    await rig.close()
  }

  private static let most = TurnShare.bytes / TurnShare.leastPiece
  private static let small = 3000

  /// The most pieces in one turn of a response that waits in the system until it is read.
  private func pieces(_ rig: EngineRig, _ url: String, afterwards other: String) async -> (turn: Int, bytes: Int) {
    let (turns, isPaused) = (Turns(), Gate())
    let download = await rig.start(TransferSpec(url: url)) { [loop = rig.loop] recorder in
      recorder.onHead = { _, _ in
        isPaused.open()
        return .pause
      }
      recorder.onBody = { _, bytes in
        turns.note(1, at: loop.turnTime)
        return .proceed
      }
    }
    isPaused.wait()
    // It takes some time, in which the first one's bytes come.
    #expect(await rig.get(other).text == "other")
    await download.onTransfer { transfer, _ in transfer.resumeReceiving() }
    let outcome = await download.outcome
    #expect(outcome.error == nil)
    return (turns.most, outcome.body.count)
  }

  @Test func recordsOfOneByte() async throws {
    let upstream = try await TLSUpstream()
    let rig = try await upstream.rig()
    let head = "HTTP/1.1 200 OK\r\nContent-Length: \(Self.small)\r\n\r\n"
    let seen = await pieces(
      rig, upstream.url("keep", head, "+\(Self.small)"), afterwards: upstream.url("keep", "~", okResponse("other")))
    #expect(seen.bytes == Self.small)
    #expect(seen.turn <= Self.most)
    await rig.close()
  }

  @Test(arguments: [HTTP1EngineChoice.own, .libcurl]) func chunksOfOneByte(engine: HTTP1EngineChoice) async throws {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    let chunks = String(repeating: "1\r\nx\r\n", count: 40_000)
    let server = try ScriptedServer(
      Script(.head, .send(head + chunks + "0\r\n\r\n"), .awaitClose), .answering(okResponse("other")))
    let rig = try await EngineRig { $0.http1Engine = engine }
    let seen = await pieces(rig, server.url, afterwards: server.url)
    #expect(seen.bytes == 40_000)
    #expect(seen.turn <= Self.most)
    await rig.close()
  }

  @Test func aBodyFromPiecesOfOneByte() async throws {
    let server = try ScriptedServer(Script(.head, .chunkedBody, .send(okResponse("fine"))))
    let rig = try await EngineRig()
    let turns = Turns()
    let spec = TransferSpec(url: server.url, method: "POST", body: .pulled(length: nil))
    let outcome = await rig.transfer(spec) { [loop = rig.loop] recorder in
      recorder.onProvide = { [unowned recorder] _, buffer in
        turns.note(1, at: loop.turnTime)
        guard recorder.position < Self.small else { return .end }
        recorder.position += 1
        buffer[0] = UInt8(ascii: "x")
        return .bytes(1)
      }
    }
    #expect(outcome.text == "fine")
    #expect(turns.most <= Self.most + 1)
    #expect(server.receivedText().contains("\r\n1\r\nx\r\n0\r\n\r\n"))
    await rig.close()
  }
}
