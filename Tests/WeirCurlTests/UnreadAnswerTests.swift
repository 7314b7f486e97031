import Glibc
import Testing
import WeirCurl
import WeirHTTP
import WeirIO
import WeirTestSupport

/// Answers that are there when the rest of the request can't be sent. libcurl reads nothing more then.
@Suite(.timeLimit(.minutes(5)), .enabled(if: isOwnEngine))
struct UnreadAnswerTests {
  private static let size = 100_000
  private static let length = "HTTP/1.1 413 x\r\nContent-Length: 4\r\n\r\nwhy?"
  private static let chunked = "HTTP/1.1 413 x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nwh\r\n2\r\ny?\r\n0\r\n\r\n"

  /// A server that sends the answer and resets the connection, while the client is about to send the rest of its body.
  private struct HastyServer {
    private let server: ScriptedServer
    private let isAsked = Gate()

    init(_ answer: String, after steps: Script.Step...) throws {
      server = try ScriptedServer(
        Script(.steps(steps), .head, .wait(isAsked), .send(answer), .reset), .answering(okResponse("again")))
    }

    var url: String { server.url }
    var connectionCount: Int { server.connectionCount }

    /// Provides a byte, and nothing more before the server has left.
    func provide(_ recorder: Recorder) {
      var hasBegun = false
      recorder.onProvide = { [server, isAsked] _, buffer in
        let count = hasBegun ? buffer.count : 1
        if hasBegun {
          isAsked.open()
          let limit = MonotonicTime.now.advanced(bySeconds: 20)
          while server.finishedCount < 1, MonotonicTime.now < limit { sched_yield() }
        }
        hasBegun = true
        for index in 0..<count { buffer[index] = 7 }
        return .bytes(count)
      }
    }
  }

  private static func spec(_ server: HastyServer, _ method: String = "POST") -> TransferSpec {
    TransferSpec(url: server.url, method: method, body: .pulled(length: Int64(size)))
  }

  @Test(arguments: [length, chunked, "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + length])
  func isTheResponse(answer: String) async throws {
    let server = try HastyServer(answer)
    let rig = try await EngineRig()
    let outcome = await rig.transfer(Self.spec(server), headers: [], server.provide)
    #expect(outcome.error == nil)
    #expect(outcome.head?.status == 413 && outcome.heads.count == 1)
    #expect(outcome.text == "why?")
    #expect(outcome.finishes == 1)
    #expect(outcome.report?.bytesReceivedOnWire == 4)
    #expect(outcome.report?.phases[.processing] != nil || outcome.report?.phases[.send] != nil)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test("What is cut, or ends with the connection, is a lost connection; its head and what there is are told")
  func isCut() async throws {
    for answer in ["HTTP/1.1 413 x\r\nContent-Length: 9\r\n\r\nwhy?", "HTTP/1.1 413 x\r\n\r\nwhy?"] {
      let server = try HastyServer(answer)
      let rig = try await EngineRig()
      let outcome = await rig.transfer(Self.spec(server), headers: [], server.provide)
      #expect(outcome.error?.code == .sendError)
      #expect(outcome.head?.status == 413 && outcome.text == "why?")
      await rig.close()
    }
  }

  @Test("Without a whole head it is a lost connection")
  func isNoAnswer() async throws {
    for answer in ["", "HTTP/1.1 413 x\r\nContent-Len", "HTTP/1.1 103 Hints\r\n\r\n"] {
      let server = try HastyServer(answer)
      let rig = try await EngineRig()
      let outcome = await rig.transfer(Self.spec(server), headers: [], server.provide)
      #expect(outcome.error?.code == .sendError)
      #expect(outcome.heads.isEmpty && outcome.finishes == 1)
      await rig.close()
    }
  }

  @Test("It is judged like any other head")
  func isMalformed() async throws {
    let server = try HastyServer("HTTP/1.1 413 x\r\nContent-Length: nine\r\n\r\nwhy?")
    let rig = try await EngineRig()
    let outcome = await rig.transfer(Self.spec(server), headers: [], server.provide)
    #expect(outcome.error?.kind == .malformedHead)
    #expect(outcome.heads.isEmpty && outcome.finishes == 1)
    await rig.close()
  }

  @Test("The receiver may pause at the head and in the body")
  func isPaused() async throws {
    let body = String(repeating: "0123456789", count: 5_000)
    let server = try HastyServer("HTTP/1.1 413 x\r\nContent-Length: 50000\r\n\r\n" + body)
    let rig = try await EngineRig()
    let running = await rig.start(Self.spec(server)) { recorder in
      server.provide(recorder)
      recorder.onHead = { _, _ in .pause }
      recorder.onBody = { _, _ in recorder.outcome.bodyCalls % 2 == 1 ? .pause : .proceed }
    }
    #expect(await eventually { await running.soFar().heads.count == 1 })
    #expect(await running.soFar().bodyCalls == 0)
    while !running.isFinished {
      await running.onTransfer { transfer, _ in transfer.resumeReceiving() }
    }
    let outcome = await running.outcome
    #expect(outcome.error == nil && outcome.text == body)
    #expect(await rig.onEngine { $0.activeTransfers } == 0)
    await rig.close()
  }

  @Test("The receiver may cancel it while it is paused, stop it at the head and in the body, and close the engine")
  func isEnded() async throws {
    for end in ["cancel", "stop at head", "stop", "close"] {
      let server = try HastyServer(Self.length)
      let rig = try await EngineRig()
      let running = await rig.start(Self.spec(server)) { recorder in
        server.provide(recorder)
        recorder.onHead = { _, _ in end == "stop at head" ? .stop : end == "stop" ? .proceed : .pause }
        recorder.onBody = { _, _ in .stop }
      }
      #expect(await eventually { await running.soFar().heads.count == 1 })
      if end == "cancel" { await running.onTransfer { transfer, _ in transfer.cancel() } }
      if end == "close" { await rig.close() }
      let outcome = await running.outcome
      let expected: TransferError.Kind = end == "cancel" ? .cancelled : end == "close" ? .engineClosed : .stopped
      #expect(outcome.error?.kind == expected && outcome.finishes == 1, "\(end): \(String(describing: outcome.error))")
      await rig.close()
    }
  }

  @Test("On a pooled connection it is the answer too, and the request is not sent again", arguments: ["POST", "PUT"])
  func onPooledConnection(method: String) async throws {
    let server = try HastyServer(Self.length, after: .head, .send(okResponse("one")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    let outcome = await rig.transfer(Self.spec(server, method), headers: [], server.provide)
    #expect(outcome.error == nil)
    #expect(outcome.text == "why?")
    #expect(outcome.report?.staleRetries == 0 && server.connectionCount == 1)
    await rig.close()
  }
}
