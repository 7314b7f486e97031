import Synchronization
import Testing
import WeirCurl
import WeirIO
import WeirTestSupport

@testable import WeirHTTP1

/// Bytes that no request has asked for are given to none.
@Suite(.slow, .timeLimit(.minutes(5)))
struct UnaskedBytesTests {
  /// Seconds from the response to the bytes behind it; nil: both are in one segment.
  private static let delays: [Double?] = [nil, 0.001, 0.05]

  /// Every other response has a stray one behind it, which has arrived before the next request leaves.
  @Test(arguments: NumberedResponse.allCases, delays)
  func aResponseBehindTheResponse(framing: NumberedResponse, delay: Double?) async throws {
    let strays = Atomic<Int>(0)
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatch { line in
            let number = Int(line.split(separator: "/")[1].prefix { $0.isNumber }) ?? 0
            let (response, stray) = (framing.text("\(number)"), framing.text("stray"))
            let count = Script.Step.call { strays.add(1, ordering: .relaxed) }
            if number % 2 == 1 { return [.send(response)] }
            guard let delay else { return [.send(response + stray), count] }
            return [.send(response), .sleep(delay), .send(stray), count]
          }
        ])))
    let rig = try await EngineRig()
    for number in 0..<8 {
      let outcome = await rig.transfer(TransferSpec(url: "\(server.url)\(number)", method: framing.method))
      #expect(outcome.mark == "\(number)", "\(outcome)")
      if number % 2 == 0 {
        let sent = number / 2 + 1
        #expect(await eventually { strays.load(ordering: .relaxed) == sent })
      }
    }
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// Sixty connections are idle when the strays come, each on its own.
  @Test(arguments: [NumberedResponse.length, .chunked])
  func whenAllAreIdle(framing: NumberedResponse) async throws {
    let asked = Atomic<Int>(0)
    let strays = Atomic<Int>(0)
    let (all, idle) = (Gate(), Gate())
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatch { line in
            guard line.contains("first") else { return [.send(framing.text("next"))] }
            // Each request has a connection before the first is answered.
            if asked.add(1, ordering: .relaxed).newValue == Self.crowd { all.open() }
            return [
              .wait(all), .send(framing.text("first")), .wait(idle), .send(framing.text("stray")),
              .call { strays.add(1, ordering: .relaxed) },
            ]
          }
        ])))
    let rig = try await EngineRig()
    let marks = await Self.marks("first", of: server, on: rig)
    #expect(marks == Array(repeating: "first", count: Self.crowd))
    #expect(server.connectionCount == Self.crowd)
    #expect(rig.counts.open == Self.crowd, "all are idle")
    idle.open()
    #expect(await eventually { strays.load(ordering: .relaxed) == Self.crowd })
    let next = await Self.marks("next", of: server, on: rig)
    #expect(next == Array(repeating: "next", count: Self.crowd))
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  private static let crowd = 60

  /// The marks of as many responses as there are in a crowd, all asked for at once.
  private static func marks(
    _ path: String, of server: ScriptedServer, on rig: EngineRig
  ) async -> [String?] {
    var running: [Running] = []
    for _ in 0..<crowd { running.append(await rig.start(TransferSpec(url: server.url + path))) }
    var marks: [String?] = []
    for transfer in running { marks.append(await transfer.outcome.mark) }
    return marks
  }

  /// A response that is there before the first request is taken as its own, and what follows it as nobody's.
  @Test(.enabled(if: isOwnEngine), arguments: NumberedResponse.allCases)
  func aResponseBeforeTheRequest(framing: NumberedResponse) async throws {
    let sent = Gate()
    let server = try ScriptedServer(
      Script(.send(framing.text("0") + framing.text("stray")), .call { sent.open() }, .awaitClose),
      Script(.head, .send(framing.text("1")), .awaitClose))
    let rig = try await EngineRig(onConnection: { sent.wait() })
    for number in 0..<2 {
      let outcome = await rig.transfer(TransferSpec(url: server.url, method: framing.method))
      #expect(outcome.mark == "\(number)", "\(outcome)")
    }
    await rig.close()
  }

  /// The request that waits for a connection takes the one whose response is just complete, unless more has come on it.
  ///
  /// The response fills the engine's buffer to the last byte, so that the bytes behind it are still in the socket.
  @Test(.enabled(if: isOwnEngine))
  func bytesBehindAResponseForWhichARequestWaits() async throws {
    let (begun, sent, asked, second) = (Gate(), Gate(), Gate(), Gate())
    let empty = okResponse("", "X-Mark: 0\r\nX-Fill: \r\n")
    let head = okResponse(
      "", "X-Mark: 0\r\nX-Fill: \(String(repeating: "x", count: HTTP1Engine.bufferSize - empty.utf8.count))\r\n")
    #expect(head.utf8.count == HTTP1Engine.bufferSize)
    let server = try ScriptedServer(
      Script(
        .socks5, .head, .call { begun.open() }, .wait(asked), .send(head + NumberedResponse.length.text("stray")),
        .call { sent.open() }, .awaitClose),
      Script(
        .call { asked.open() }, .wait(second), .socks5, .head, .send(NumberedResponse.length.text("1")), .awaitClose))
    let port = server.port
    let rig = try await EngineRig { $0.proxy = .socks5(host: "127.0.0.1", port: port, credential: nil) }
    let first = await rig.start(TransferSpec(url: "http://127.0.0.1:1/"))
    begun.wait()
    await first.onTransfer { transfer, _ in transfer.pauseReceiving() }
    let waiting = await rig.start(TransferSpec(url: "http://127.0.0.1:1/"))
    sent.wait()
    await first.onTransfer { transfer, _ in transfer.resumeReceiving() }
    #expect(await first.outcome.mark == "0")
    second.open()
    let outcome = await waiting.outcome
    #expect(outcome.mark == "1", "\(outcome)")
    await rig.close()
  }
}

/// The same on TLS, where bytes may be in the socket, or in the TLS library already.
@Suite(.slow, .timeLimit(.minutes(5)), .enabled(if: TLSUpstream.isInstalled))
struct UnaskedBytesOnTLSTests {
  @Test(arguments: ["1.2", "1.3"], NumberedResponse.allCases)
  func aResponseBehindTheResponse(version: String, framing: NumberedResponse) async throws {
    let upstream = try await TLSUpstream(version)
    let rig = try await upstream.rig()
    let stray = framing.text("stray")
    for (round, wait) in ["", "|", "|^|", "|~|"].enumerated() {
      for trial in 0..<2 {
        let mark = "\(round).\(trial)"
        let url = upstream.url("keep", (framing.text(mark) + wait + stray).components(of: "|"))
        let outcome = await rig.transfer(TransferSpec(url: url, method: framing.method))
        #expect(outcome.mark == mark, "\(outcome)")
        if wait.count > 1 { #expect(await eventually { await rig.onEngine { $0.openConnections } == 0 }) }
        let next = await rig.transfer(
          TransferSpec(url: upstream.url("keep", framing.text("next")), method: framing.method))
        #expect(next.mark == "next", "\(next)")
      }
    }
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test func aSecondLater() async throws {
    let (crowd, framing) = (60, NumberedResponse.length)
    let upstream = try await TLSUpstream()
    let rig = try await upstream.rig()
    // Each request has a connection before the first is answered.
    let second = Array(repeating: "~", count: 10)
    let first = upstream.url("keep", ["=\(crowd)", framing.text("first")] + second + [framing.text("stray")])
    for (url, mark) in [(first, "first"), (upstream.url("keep", framing.text("next")), "next")] {
      var running: [Running] = []
      for _ in 0..<crowd { running.append(await rig.start(TransferSpec(url: url))) }
      for transfer in running { #expect(await transfer.outcome.mark == mark) }
      if mark == "first" { #expect(await eventually { rig.counts.value.closed == rig.counts.value.opened }) }
    }
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// Each record is read on its own: the one behind the response is not yet known when the next request takes over.
  @Test(.enabled(if: isOwnEngine), arguments: ["1.2", "1.3"], NumberedResponse.allCases)
  func aRecordBehindAResponseForWhichARequestWaits(version: String, framing: NumberedResponse) async throws {
    let upstream = try await TLSUpstream(version, holdsConnections: true)
    let rig = try await upstream.rig()
    let first = await rig.start(
      TransferSpec(url: upstream.url("keep", "=", framing.text("first"), framing.text("stray")), method: framing.method)
    )
    #expect(await eventually { await rig.onEngine { $0.openConnections } == 1 })
    let waiting = await rig.start(
      TransferSpec(url: upstream.url("keep", framing.text("second")), method: framing.method))
    #expect(await first.outcome.mark == "first")
    let outcome = await waiting.outcome
    #expect(outcome.mark == "second", "\(outcome)")
    await rig.close()
  }
}

extension String {
  fileprivate func components(of separator: Character) -> [String] {
    split(separator: separator, omittingEmptySubsequences: false).map { String($0) }
  }
}
