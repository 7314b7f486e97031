import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§24 Streams: streamTask()", .timeLimit(.minutes(5)))
struct StreamTaskTests {
  private func collect<Success, Failure>(
    _ stream: DataStreamTask.Stream<Success, Failure>
  ) async -> [String] {
    var notes: [String] = []
    for await event in stream { notes.append(event.note) }
    return notes
  }

  @Test("The four forms; `.complete` is the last element")
  func forms() async throws {
    let server = try answering(okResponse("7"))
    let session = Session()
    #expect(
      await collect(session.streamRequest(server.url).streamTask().streamingData()) == ["7", "complete(success)"])
    #expect(
      await collect(session.streamRequest(server.url).streamTask().streamingStrings()) == ["7", "complete(success)"])
    #expect(
      await collect(session.streamRequest(server.url).streamTask().streamingDecodables(Int.self))
        == ["7", "complete(success)"])
    #expect(
      await collect(session.streamRequest(server.url).streamTask().streamingResponses(serializedUsing: .string))
        == ["7", "complete(success)"])
    let failing = session.streamRequest(server.url).streamTask().streamingDecodables([Int].self)
    #expect(await collect(failing) == ["failure(decoding_failed)", "complete(success)"])
  }

  @Test("Elements keep their order, and several streams get all of them")
  func order() async throws {
    let body = String(repeating: "0123456789", count: 100_000)
    let server = try answering(okResponse(body))
    let request = manualSession.streamRequest(server.url)
    let (first, second) = (request.streamTask().streamingStrings(), request.streamTask().streamingStrings())
    request.resume()
    let other = Task { await collect(second) }
    let notes = await collect(first)
    #expect(notes.dropLast().joined() == body)
    #expect(await other.value.dropLast().joined() == body)
    #expect(await other.value.last == "complete(success)")
  }

  @Test("Making a stream adds its handler at once: the request starts before anybody iterates")
  func startsAtOnce() async throws {
    let server = try answering(okResponse("x"))
    let request = streamSession.streamRequest(server.url)
    let stream = request.streamTask().streamingStrings()
    await request.settled()
    #expect(await collect(stream) == ["x", "complete(success)"])
  }

  @Test("Leaving the loop cancels the request")
  func leavingCancels() async throws {
    let server = try ScriptedServer(pieces(("x", nil), then: [.awaitClose]))
    let request = streamSession.streamRequest(server.url)
    for await event in request.streamTask().streamingStrings() where event.value != nil { break }
    await request.settled()
    #expect(request.outcome == .cancelled)
    try await eventually("the connection is closed") { server.closedByClientCount == 1 }
  }

  @Test("Where automatic cancelling is off the transfer goes on to its end, beyond what is buffered")
  func leavingGoesOn() async throws {
    let server = try answering(okResponse(String(repeating: "x", count: 5 << 20)))
    let request = streamSession.streamRequest(server.url)
    let stream = request.streamTask().streamingData(automaticallyCancelling: false)
    for await event in stream where event.value != nil { break }
    await request.settled()
    #expect(request.outcome == .success)
    #expect(request.metrics?.bytesDecoded == 5 << 20)
    #expect(request.streaming.withLock { $0.delivery.undelivered } == 0)
    // Also one that nobody has begun to read.
    let other = streamSession.streamRequest(server.url)
    _ = other.streamTask().streamingData(automaticallyCancelling: false)
    await other.settled()
    #expect(other.outcome == .success)
  }

  @Test("One observer's choice does not shield the request from another's")
  func twoObservers() async throws {
    let server = try ScriptedServer(pieces(("x", nil), then: [.awaitClose]))
    let request = manualSession.streamRequest(server.url)
    let staying = request.streamTask().streamingStrings(automaticallyCancelling: false)
    let leaving = request.streamTask().streamingStrings()
    request.resume()
    for await event in leaving where event.value != nil { break }
    #expect(await collect(staying) == ["x", "complete(explicitly_cancelled)"])
  }

  @Test("Cancelling the task that iterates cancels the request, unless that was turned off")
  func cancelledTask() async throws {
    for cancels in [true, false] {
      let gate = Gate()
      let server = try ScriptedServer(pieces(("x", nil), ("y", gate)))
      let request = streamSession.streamRequest(server.url)
      let stream = request.streamTask().streamingStrings(automaticallyCancelling: cancels)
      let begun = Latch()
      let task = Task {
        for await event in stream where event.value != nil { begun.open() }
      }
      await begun.wait()
      task.cancel()
      await task.value
      if !cancels { gate.open() }
      await request.settled()
      #expect(request.outcome == (cancels ? .cancelled : .success))
      gate.open()
    }
  }

  @Test("A stream read to its end does not cancel; the task's verbs are the request's")
  func verbs() async throws {
    let server = try answering(okResponse("x"))
    let request = manualSession.streamRequest(server.url)
    let task = request.streamTask()
    let stream = task.streamingStrings()
    task.suspend()
    #expect(request.isSuspended)
    task.resume()
    #expect(await collect(stream) == ["x", "complete(success)"])
    #expect(request.isFinished)
    let other = manualSession.streamRequest(server.url)
    other.streamTask().cancel()
    #expect(other.isCancelled)
    #expect(await collect(other.streamTask().streamingStrings()) == ["complete(explicitly_cancelled)"])
  }

  @Test("A policy that drops values keeps the transfer going; without one the reader is waited for")
  func bufferingPolicies() async throws {
    let count = 6 << 20
    let server = try answering(okResponse(String(repeating: "x", count: count)))
    let session = Session()
    let newest = session.streamRequest(server.url)
    let last = newest.streamTask().streamingData(bufferingPolicy: .bufferingNewest(1))
    await newest.settled()
    #expect(newest.metrics?.bytesDecoded == Int64(count))
    #expect(await collect(last) == ["complete(success)"])

    let oldest = session.streamRequest(server.url)
    let first = oldest.streamTask().streamingData(bufferingPolicy: .bufferingOldest(2))
    await oldest.settled()
    var bytes: [Int] = []
    for await event in first { bytes.append(event.value?.count ?? 0) }
    #expect(bytes.count == 2 && bytes.allSatisfy { $0 > 0 })

    let slow = session.streamRequest(server.url)
    let all = slow.streamTask().streamingData()
    try await eventually("reading waits") {
      slow.streaming.withLock { $0.delivery.undelivered >= StreamDelivery<Data, StreamValue>.mark }
    }
    for _ in 0..<100 { await session.loopTurn() }
    #expect(try #require(slow.task).countOfBytesReceived <= 1 << 20)
    var total = 0
    for await event in all {
      total += event.value?.count ?? 0
      #expect(slow.streaming.withLock { $0.delivery.undelivered } <= 1 << 20)
    }
    #expect(total == count)
  }

  @Test("A reader that is slow at the end holds up the request neither then nor later")
  func slowAtTheEnd() async throws {
    let server = try answering(okResponse(String(repeating: "x", count: 100_000)))
    let request = streamSession.streamRequest(server.url)
    let stream = request.streamTask().streamingData()
    await request.settled()
    #expect(request.outcome == .success)
    var total = 0
    for await event in stream { total += event.value?.count ?? 0 }
    #expect(total == 100_000)
  }

  @Test("Heads, progress, URL requests and tasks come as streams too; the async head closures hold the body")
  func otherStreams() async throws {
    let server = try answeringInTurn(response("503 Busy"), okResponse("fine"))
    let session = Session(
      startRequestsImmediately: false, interceptor: RetryPolicy(exponentialBackoffScale: 0))
    let request = session.streamRequest(server.url).validate()
    let (heads, urlRequests, tasks) = (request.httpResponses(), request.urlRequests(), request.urlSessionTasks())
    let progress = request.downloadProgress()
    let notes = request.noting()
    request.resume()
    #expect(await notes.all() == ["fine", "complete(success)"])
    var statuses: [Int] = []
    for await head in heads { statuses.append(head.statusCode) }
    #expect(statuses == [503, 200])
    var counts = (0, 0)
    for await _ in urlRequests { counts.0 += 1 }
    for await _ in tasks { counts.1 += 1 }
    #expect(counts == (2, 2))
    var last: Int64 = -1
    for await step in progress { last = step.completedUnitCount }
    #expect(last == 4)

    let other = try answering(okResponse("x"))
    let opened = Latch()
    let held = streamSession.streamRequest(other.url).onHTTPResponse { _ in await opened.wait() }
    let chunks = held.noting()
    try await eventually("it has arrived") { held.response != nil }
    #expect(chunks.entries.isEmpty)
    opened.open()
    #expect(await chunks.all() == ["x", "complete(success)"])
    let refused = streamSession.streamRequest(other.url).onHTTPResponse { _ -> Request.ResponseDisposition in .cancel }
    #expect(await refused.noting().all() == ["complete(explicitly_cancelled)"])
  }

  @Test("On the session's executor elements come without a change of thread")
  func executor() async throws {
    let server = try answering(okResponse(String(repeating: "x", count: 300_000)))
    let session = Session()
    let url = server.url
    let total = await Task(executorPreference: session.executor) {
      var total = 0
      for await event in session.streamRequest(url).streamTask().streamingData() { total += event.value?.count ?? 0 }
      return total
    }.value
    #expect(total == 300_000)
  }
}
