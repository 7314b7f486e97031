import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§8.4 Streams: cancel, suspend, deadline, the session's end", .slow, .timeLimit(.minutes(5)))
struct StreamEndTests {
  /// A stream whose only handler is in a call with its first chunk, with more waiting.
  private struct Busy {
    let server: ScriptedServer
    let session: Session
    let request: DataStreamRequest
    let notes = Journal<String>()
    let gate = Gate()

    init(_ server: ScriptedServer, _ session: Session = Session(startRequestsImmediately: false)) async throws {
      self.server = server
      self.session = session
      request = session.streamRequest(server.url)
      let (notes, gate) = (notes, gate)
      request.responseStreamString { stream in
        notes.append(stream.completion == nil ? "chunk" : stream.note)
        if stream.completion == nil { gate.wait() }
      }
    }

    func begin() async throws {
      request.resume()
      await notes.wait { $0 == ["chunk"] }
    }
  }

  private static func server() throws -> ScriptedServer {
    try answering(okResponse(String(repeating: "x", count: 4 << 20)))
  }

  @Test("Cancel ends the request at once; the end is told when the call under way has returned, and no other began")
  func cancel() async throws {
    let busy = try await Busy(Self.server())
    try await busy.begin()
    busy.request.cancel()
    await busy.request.settled()
    #expect(busy.request.outcome == .cancelled)
    #expect(await busy.session.activeRequests.isEmpty)
    #expect(busy.notes.entries == ["chunk"])
    busy.gate.open()
    #expect(await busy.notes.all() == ["chunk", "complete(explicitly_cancelled)"])
    await busy.session.loopTurn()
    #expect(busy.notes.entries.count == 2)
  }

  @Test("The deadline, and the session's end, do the same")
  func otherEnds() async throws {
    let late = try await Busy(Self.server())
    late.request.deadline(2)
    try await late.begin()
    await late.request.settled()
    #expect(late.request.outcome == .timeout)
    late.gate.open()
    #expect(await late.notes.all() == ["chunk", "complete(timed_out)"])

    let invalidated = try await Busy(Self.server())
    try await invalidated.begin()
    invalidated.session.invalidateAndCancel()
    await invalidated.request.settled()
    #expect(invalidated.request.outcome == .sessionEnded)
    invalidated.gate.open()
    #expect(await invalidated.notes.all() == ["chunk", "complete(session_invalidated)"])
  }

  @Test("A session that goes while a handler is busy ends the stream")
  func sessionGone() async throws {
    let server = try Self.server()
    let request = Mutex<DataStreamRequest?>(nil)
    let (notes, gate) = (Journal<String>(), Gate())
    do {
      let session = Session(startRequestsImmediately: false)
      let stream = session.streamRequest(server.url)
      request.withLock { $0 = stream }
      stream.responseStreamString { stream in
        notes.append(stream.completion == nil ? "chunk" : stream.note)
        if stream.completion == nil { gate.wait() }
      }
      stream.resume()
      await notes.wait { $0 == ["chunk"] }
    }
    try await eventually("it has ended") { request.withLock { $0?.outcome } == .sessionEnded }
    gate.open()
    #expect(await notes.all() == ["chunk", "complete(session_deinitialized)"])
  }

  @Test("`cancel()` of an event, and of its token, cancel the request; nothing of what waits is delivered")
  func cancelFromAnEvent() async throws {
    for byToken in [false, true] {
      let server = try Self.server()
      let request = streamSession.streamRequest(server.url)
      let notes = Journal<String>()
      request.responseStream(on: .global()) { stream in
        notes.append(stream.completion == nil ? "chunk" : stream.note)
        if byToken { stream.token.cancel() } else { stream.cancel() }
      }
      #expect(await notes.all() == ["chunk", "complete(explicitly_cancelled)"])
      #expect(request.isCancelled)
    }
  }

  @Test("Cancelling at the end, and after it, changes nothing")
  func cancelAtTheEnd() async throws {
    let server = try answering(okResponse("x"))
    let request = streamSession.streamRequest(server.url)
    let notes = Journal<String>()
    request.responseStreamString { stream in
      if stream.completion != nil { stream.cancel() }
      notes.append(stream.note)
    }
    #expect(await notes.all() == ["x", "complete(success)"])
    request.cancel()
    #expect(request.isFinished)
    #expect(request.outcome == .success)
  }

  @Test("While the end waits for handlers a cancel, a task's cancel and a suspend have their effect")
  func inTheEnd() async throws {
    let server = try answering(okResponse("x"))
    // Everything has come; the handler has it.
    let cancelled = try await Busy(server)
    try await cancelled.begin()
    await cancelled.session.loopTurn()
    cancelled.request.cancel()
    await cancelled.request.settled()
    cancelled.gate.open()
    #expect(await cancelled.notes.all() == ["chunk", "complete(explicitly_cancelled)"])

    let task = try await Busy(server)
    try await task.begin()
    await task.session.loopTurn()
    task.request.task?.cancel()
    await task.session.loopTurn()
    #expect(task.request.outcome == nil)
    task.gate.open()
    #expect(await task.notes.all() == ["chunk", "complete(cancelled)"])

    let suspended = try await Busy(server)
    try await suspended.begin()
    await suspended.session.loopTurn()
    suspended.request.suspend()
    suspended.gate.open()
    for _ in 0..<50 { await suspended.session.loopTurn() }
    #expect(suspended.request.outcome == nil)
    suspended.request.resume()
    #expect(await suspended.notes.all() == ["chunk", "complete(success)"])
  }

  @Test("Suspend stops reading; resume goes on")
  func suspend() async throws {
    let gate = Gate()
    let server = try ScriptedServer(pieces(("one", nil), ("two", gate)))
    let session = Session(startRequestsImmediately: false)
    let request = session.streamRequest(server.url)
    let notes = request.noting()
    request.resume()
    await notes.wait { $0 == ["one"] }
    request.suspend()
    await session.loopTurn()
    gate.open()
    try await eventually("it was sent") { server.finishedCount == 1 }
    for _ in 0..<50 { await session.loopTurn() }
    #expect(notes.entries == ["one"])
    request.resume()
    #expect(await notes.all() == ["one", "two", "complete(success)"])
  }

  @Test("§5 A request that never started goes with its owner and calls nobody; tokens hold nothing")
  func lifetime() async throws {
    let session = Session(startRequestsImmediately: false)
    let notes = Journal<String>()
    weak var observed: DataStreamRequest?
    do {
      let request = session.streamRequest("http://127.0.0.1:1/")
      request.responseStreamString { notes.append($0.note) }
      observed = request
    }
    #expect(observed == nil)
    #expect(notes.entries.isEmpty)

    let server = try answering(okResponse("x"))
    let token = Mutex<DataStreamRequest.CancellationToken?>(nil)
    final class Witness: Sendable {}
    weak var witness: Witness?
    do {
      let captured = Witness()
      witness = captured
      let request = session.streamRequest(server.url)
      observed = request
      request.responseStreamString { stream in
        token.withLock { $0 = stream.token }
        notes.append(stream.note)
        withExtendedLifetime(captured) {}
      }
      request.resume()
    }
    #expect(await notes.all() == ["x", "complete(success)"])
    try await eventually("it is gone") {
      await session.loopTurn()
      return observed == nil && witness == nil
    }
    token.withLock { $0 }?.cancel()
  }

  @Test("A handler is released with the end, while its request is kept")
  func handlersAreReleased() async throws {
    let server = try answering(okResponse("x"))
    final class Witness: Sendable {}
    weak var witness: Witness?
    let session = Session()
    let request = session.streamRequest(server.url)
    let notes = Journal<String>()
    do {
      let captured = Witness()
      witness = captured
      request.responseStreamString { stream in withExtendedLifetime(captured) { notes.append(stream.note) } }
    }
    _ = await notes.all()
    try await eventually("the handler is gone") {
      await session.loopTurn()
      return witness == nil
    }
    #expect(request.isFinished)
  }

  @Test("300 streams with handlers of all kinds, cancelled, suspended, failing at random: each handler ends once")
  func atRandom() async throws {
    let server = try answering(response("200 OK", body: String(repeating: "0123456789", count: 5_000)))
    let table = DestinationTable()
    let retrier = Retrier { request, _, _, completion in
      completion(request.retryCount < 2 ? .retryWithDelay(0.001) : .doNotRetry)
    }
    let session = try Session.sharing(table, .limited(to: 4), interceptor: retrier)
    var random = SeededRandom(seed: 12)
    let ends = Journal<Int>()
    var expected = 0
    var requests: [DataStreamRequest] = []
    for number in 0..<300 {
      let request = session.streamRequest(
        server.url, automaticallyCancelOnStreamError: Bool.random(using: &random), shouldAutomaticallyResume: false)
      requests.append(request)
      if Bool.random(using: &random) { request.validate(statusCode: [number % 3 == 0 ? 200 : 201]) }
      for index in 0..<Int.random(in: 1...3, using: &random) {
        expected += 1
        let (fate, queue) = (
          Int.random(in: 0..<8, using: &random), [nil, DispatchQueue.global()].randomElement(using: &random)
        )
        let serializer = ClosureSerializer { data in
          if fate == 0 { throw TestError(number: number) }
          return data.count
        }
        request.responseStream(using: serializer, on: queue ?? nil) { stream in
          if stream.completion != nil { ends.append(number * 10 + index) }
          switch fate {
          case 1: throw TestError(number: number)
          case 2: stream.cancel()
          case 3: sched_yield()
          default: break
          }
        }
      }
      if Bool.random(using: &random) {
        expected += 1
        let stream = request.streamTask().streamingStrings(automaticallyCancelling: Bool.random(using: &random))
        let leaves = Bool.random(using: &random)
        Task {
          for await event in stream {
            if leaves, event.value != nil { break }
          }
          ends.append(number * 10 + 9)
        }
      }
      request.resume()
      switch Int.random(in: 0..<6, using: &random) {
      case 0: request.cancel()
      case 1: request.suspend().resume()
      case 2: DispatchQueue.global().async { request.cancel() }
      case 3: DispatchQueue.global().async { request.suspend().resume() }
      default: break
      }
    }
    let total = expected
    await ends.wait { $0.count >= total }
    for request in requests { await request.settled() }
    await session.loopTurn()
    #expect(Set(ends.entries).count == ends.entries.count)
    #expect(ends.entries.count == total)
    #expect(await session.activeRequests.isEmpty)
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }
}
