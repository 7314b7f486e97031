import Synchronization
import Testing
import WeirCurl
import WeirIO
import WeirTestSupport

@testable import WeirHTTP1

/// A response that comes faster than it is read leaves time for the other transfers.
@Suite(.slow, .enabled(if: TLSUpstream.isInstalled && isOwnEngine), .timeLimit(.minutes(1)))
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
    #expect(turns.most <= HTTP1Engine.bytesPerTurn + HTTP1Engine.bufferSize)
    #expect(others >= 10)
    await rig.close()
  }
}
