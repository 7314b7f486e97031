import Testing
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirCurl

/// Ends that come from us, at every stage.
@Suite(.timeLimit(.minutes(5)))
struct CancellationTests {
  private static let upload = TransferBody.pulled(length: 1_000_000)
  private static let response = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf!"

  @Test
  func atOnce() async throws {
    let server = try BlackHole()
    let rig = try await EngineRig()
    let outcome = await rig.onEngine { engine in
      let recorder = Recorder { _ in }
      let transfer = engine.start(
        TransferSpec(url: server.url), headers: PreparedHeaders(lines: []), delegate: recorder)
      transfer.cancel()
      transfer.cancel()
      return recorder.outcome.finishes
    }
    #expect(outcome == 0, "the end must not come from within cancel")
    #expect(await eventually { await rig.onEngine { $0.activeTransfers } == 0 })
    #expect(server.connectionCount == 0)
    await rig.close()
  }

  @Test
  func whileConnecting() async throws {
    // A listener whose queue is full lets no further connection come to pass.
    let full = try FullListener()
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: full.url))
    #expect(await eventually { await rig.onEngine { $0.openConnections } == 1 })
    await running.onTransfer { transfer, _ in transfer.cancel() }
    let outcome = await running.outcome
    #expect(outcome.error?.kind == .cancelled)
    #expect(await rig.onEngine { $0.openConnections } == 0)
    #expect(rig.counts.open == 0)
    await rig.close()
  }

  @Test
  func whileWaitingForTheHead() async throws {
    let server = try BlackHole()
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: server.url))
    #expect(await eventually { server.received().count > 10 })
    await running.onTransfer { transfer, _ in transfer.cancel() }
    let outcome = await running.outcome
    #expect(outcome.error?.kind == .cancelled)
    #expect(outcome.error?.label == "cancelled")
    #expect(outcome.finishes == 1)
    #expect(outcome.report?.connectionsOpened == 1)
    #expect(outcome.report?.phases[.processing] != nil)
    #expect(rig.counts.open == 0)
    #expect(await eventually { server.closedByClientCount == 1 })
    await rig.close()
  }

  @Test
  func inTheMiddleOfTheBody() async throws {
    let server = try ScriptedServer(Script(.head, .send(Self.response), .awaitClose))
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: server.url))
    #expect(await eventually { await running.soFar().body.count == 5 })
    await running.onTransfer { transfer, _ in transfer.cancel() }
    let outcome = await running.outcome
    #expect(outcome.error?.kind == .cancelled)
    #expect(outcome.text == "half!")
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test
  func afterTheEndItDoesNothing() async throws {
    let server = try ScriptedServer(.answering(okResponse("x")))
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: server.url))
    _ = await running.outcome
    await running.onTransfer { transfer, _ in
      transfer.cancel()
      transfer.pauseReceiving()
      transfer.resumeReceiving()
      transfer.pauseSending()
      transfer.resumeSending()
    }
    #expect(await running.soFar().finishes == 1)
    #expect(await rig.get(server.url).error == nil)
    await rig.close()
  }

  enum Stage: CaseIterable {
    case head, body, provide, rewind, sent, finish
  }

  /// Cancelling from within a callback, and what the delegate answers then, whatever it is.
  @Test(arguments: Stage.allCases, [Flow.proceed, .pause, .stop])
  func fromWithin(stage: Stage, answer: Flow) async throws {
    let server = try ScriptedServer(
      Script(.head, .bytes(1), .send(okResponse("first")), .close),
      Script(.head, .bytes(100_000), .send(okResponse("hello")), .awaitClose))
    let rig = try await EngineRig()
    if stage == .rewind { try await primeStaleConnection(rig, server) }
    let body: TransferBody = [.provide, .rewind, .sent].contains(stage) ? Self.upload : .bytes([1])
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: "POST", body: body)) { recorder in
      Self.cancelling(recorder, at: stage, answer)
    }
    #expect(outcome.finishes == 1)
    if stage == .finish {
      #expect(outcome.error == nil)
    } else if stage != .rewind {
      #expect(outcome.error?.kind == .cancelled)
    }
    #expect(await rig.onEngine { $0.activeTransfers } == 0)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  private static func cancelling(_ recorder: Recorder, at stage: Stage, _ answer: Flow) {
    recorder.source = [UInt8](repeating: 1, count: 1_000_000)
    switch stage {
    case .head:
      recorder.onHead = { transfer, _ in
        transfer.cancel()
        return answer
      }
    case .body:
      recorder.onBody = { transfer, _ in
        transfer.cancel()
        return answer
      }
    case .provide:
      recorder.onProvide = { transfer, buffer in
        transfer.cancel()
        if case .pause = answer { return .pause }
        if case .stop = answer { return .end }
        return .bytes(buffer.count)
      }
    case .rewind: recorder.onRewind = { false }
    case .sent: recorder.onSent = { $0.cancel() }
    case .finish: recorder.onFinish = { $0.cancel() }
    }
  }

  private func primeStaleConnection(_ rig: EngineRig, _ server: ScriptedServer) async throws {
    let first = await rig.transfer(TransferSpec(url: server.url, method: "POST", body: .bytes([1])))
    #expect(first.error == nil)
  }

  @Test
  func anotherTransferFromWithin() async throws {
    let hole = try BlackHole()
    let server = try ScriptedServer(.answering(okResponse("hello")))
    let rig = try await EngineRig()
    let victim = await rig.start(TransferSpec(url: hole.url))
    #expect(await eventually { hole.received().count > 10 })
    let bound = try #require(await victim.onTransfer { transfer, _ in UncheckedBox(transfer) })
    let outcome = await rig.transfer(TransferSpec(url: server.url)) { recorder in
      recorder.onBody = { _, _ in
        bound.value.cancel()
        return .proceed
      }
    }
    #expect(outcome.error == nil)
    #expect(await victim.outcome.error?.kind == .cancelled)
    await rig.close()
  }

  @Test
  func startFromWithinFinish() async throws {
    let server = try ScriptedServer(.answering(okResponse("hello")))
    let rig = try await EngineRig()
    let last = Running(loop: rig.loop)
    await rig.onEngine { engine in Chain(engine, server.url, length: 50, last).next() }
    let outcome = await last.outcome
    #expect(outcome.error == nil)
    #expect(server.connectionCount == 1)
    await rig.close()
  }

  @Test
  func closeWithTransfersInFlight() async throws {
    let hole = try BlackHole()
    let rig = try await EngineRig()
    var running: [Running] = []
    for _ in 0..<20 { running.append(await rig.start(TransferSpec(url: hole.url))) }
    #expect(await eventually { hole.connectionCount == 20 && rig.counts.value.opened == 20 })
    await rig.close()
    for one in running { #expect(await one.outcome.error?.kind == .engineClosed) }
    #expect(rig.counts.value.opened == 20)
    #expect(rig.counts.open == 0)
    let late = await rig.get(hole.url)
    #expect(late.error?.kind == .engineClosed)
    await rig.close()
  }

  @Test(arguments: [CancellationTests.Stage.head, .body, .provide, .finish])
  func closeFromWithin(stage: Stage) async throws {
    let server = try ScriptedServer(.answering(okResponse("hello")))
    let hole = try BlackHole()
    let rig = try await EngineRig()
    let other = await rig.start(TransferSpec(url: hole.url))
    let spec = TransferSpec(
      url: server.url, method: stage == .provide ? "POST" : "GET", body: stage == .provide ? Self.upload : .none)
    let engine = await rig.onEngine { UncheckedBox($0) }
    let outcome = await rig.transfer(spec) { recorder in
      switch stage {
      case .head:
        recorder.onHead = { _, _ in
          engine.value.close()
          return .proceed
        }
      case .body:
        recorder.onBody = { _, _ in
          engine.value.close()
          return .proceed
        }
      case .provide:
        recorder.onProvide = { _, _ in
          engine.value.close()
          return .bytes(10)
        }
      default: recorder.onFinish = { _ in engine.value.close() }
      }
    }
    #expect(outcome.finishes == 1)
    #expect(await other.outcome.error?.kind == .engineClosed)
    #expect(await eventually { rig.counts.open == 0 })
    await rig.close()
  }

  // MARK: The engine's end

  /// Closed from within the end of a transfer that was cancelled, while others have ends of theirs to come.
  @Test
  func closedByTheEndOfACancelledTransfer() async throws {
    let hole = try BlackHole()
    let rig = try await EngineRig()
    let engine = await rig.onEngine { UncheckedBox($0) }
    let first = await rig.start(TransferSpec(url: hole.url)) { $0.onFinish = { _ in engine.value.close() } }
    let second = await rig.start(TransferSpec(url: hole.url))
    let third = await rig.start(TransferSpec(url: hole.url))
    #expect(await eventually { hole.connectionCount == 3 })
    await rig.onEngine { _ in for running in [first, second] { running.cancelOnLoop() } }
    #expect(await first.outcome.error?.kind == .cancelled)
    #expect(await second.outcome.error?.kind == .cancelled)
    #expect(await third.outcome.error?.kind == .engineClosed)
    #expect(await eventually { await rig.onEngine { $0.activeTransfers } == 0 })
    #expect(rig.counts.open == 0)
  }

  /// The same when all of them are cancelled in one turn, by silence.
  @Test
  func closedByTheEndOfASilentTransfer() async throws {
    let hole = try BlackHole()
    let rig = try await EngineRig()
    let spec = TransferSpec(url: hole.url, silenceTimeout: 0.1)
    let engine = await rig.onEngine { UncheckedBox($0) }
    var running: [Running] = []
    for _ in 0..<3 { running.append(await rig.start(spec) { $0.onFinish = { _ in engine.value.close() } }) }
    var kinds: [TransferError.Kind?] = []
    for transfer in running { kinds.append(await transfer.outcome.error?.kind) }
    #expect(kinds.first == .silence)
    #expect(kinds.allSatisfy { $0 == .silence || $0 == .engineClosed })
    #expect(await eventually { rig.counts.open == 0 })
  }

  /// A transfer that is started by the end of one that the close ends.
  @Test
  func startedWhileTheEngineCloses() async throws {
    let hole = try BlackHole()
    let rig = try await EngineRig()
    let late = Running(loop: rig.loop)
    let spec = TransferSpec(url: hole.url)
    let engine = await rig.onEngine { UncheckedBox($0) }
    let running = await rig.start(spec) {
      $0.onFinish = { _ in late.start(spec, PreparedHeaders(lines: []), engine.value) { _ in } }
    }
    #expect(await eventually { hole.connectionCount == 1 })
    await rig.close()
    #expect(await running.outcome.error?.kind == .engineClosed)
    #expect(await late.outcome.error?.kind == .engineClosed)
    #expect(await rig.onEngine { $0.activeTransfers } == 0)
  }

  /// The end of the engine comes after the step that asked for it.
  @Test
  func closeIsNoEndInTheMiddleOfAStep() async throws {
    let hole = try BlackHole()
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: hole.url))
    #expect(await eventually { hole.connectionCount == 1 })
    let engine = await rig.onEngine { UncheckedBox($0) }
    let finishes = await running.onTransfer { _, recorder in
      engine.value.close()
      return recorder.outcome.finishes
    }
    #expect(finishes == 0)
    #expect(await running.outcome.error?.kind == .engineClosed)
  }
}

/// A loop-confined object handed from one job on the loop to a later one.
struct UncheckedBox<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}

/// One transfer after another, each started as the one before ends.
private final class Chain {
  private let engine: Engines
  private let url: String
  private var left: Int
  private let last: Running

  init(_ engine: Engines, _ url: String, length: Int, _ last: Running) {
    self.engine = engine
    self.url = url
    left = length
    self.last = last
  }

  func next() {
    left -= 1
    let headers = PreparedHeaders(lines: [])
    if left == 0 { return last.start(TransferSpec(url: url), headers, engine) { _ in } }
    _ = engine.start(
      TransferSpec(url: url), headers: headers, delegate: Recorder { _ in self.next() })
  }
}
