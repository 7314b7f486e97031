import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// Awaiting responses, and the streams of a request's progress.
@Suite("Data tasks and streams", .timeLimit(.minutes(5)))
struct DataTaskTests {
  @Test("Value, response and result say the same, however often they are read")
  func readings() async throws {
    let server = try answering(okResponse("41"))
    let session = Session()
    let task = session.request(server.url).serializingDecodable(Int.self)
    #expect(try await task.value == 41)
    #expect(try await task.result.get() == 41)
    let (first, second) = (await task.response, await task.response)
    #expect(first.value == 41)
    #expect(first.metrics == second.metrics)
    #expect(first.timeline == second.timeline)
    #expect(server.allRequests.count == 1)
    await session.loopTurn()
  }

  @Test("Many awaiters of one task all get the response")
  func manyAwaiters() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("41")), .awaitClose))
    let session = Session()
    let task = session.request(server.url).serializingDecodable(Int.self)
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { try await task.value } }
      gate.open()
      return try await group.reduce(0, +)
    }
    #expect(sum == 50 * 41)
    await session.loopTurn()
  }

  @Test("A value's error is the WeirError")
  func errors() async throws {
    let server = try answering(response("404 Not Found"))
    let session = Session()
    let task = session.request(server.url).validate().serializingData()
    await #expect(throws: WeirError.self) { try await task.value }
    guard case .failure(let error) = await task.result else {
      Issue.record("a success")
      return
    }
    #expect(error.responseCode == 404)
  }

  @Test("Making a task starts the request at once, unless that is not wanted")
  func starts() async throws {
    let server = try answering(okResponse("x"))
    let session = Session()
    let task = session.request(server.url).serializingData()
    try await eventually("it has arrived, though nobody awaits it") { server.allRequests.count == 1 }
    #expect(await task.response.value?.count == 1)
    let idle = session.request(server.url, shouldAutomaticallyResume: false)
    let later = idle.serializingData()
    await session.loopTurn()
    #expect(idle.isInitialized)
    later.resume()
    #expect(await later.response.value?.count == 1)
  }

  @Test("The first handler starts a suspended request too; a later one leaves it suspended")
  func startsSuspended() async throws {
    let server = try answering(okResponse("x"))
    let session = Session()
    let recorder = EventRecorder()
    let request = session.request(server.url).eventMonitor(recorder).suspend()
    await session.loopTurn()
    #expect(await request.serializingString().response.value == "x")
    #expect(recorder.names.prefix(4) == ["suspend", "resume", "createInitial", "create"])
    let hole = try BlackHole()
    let other = session.request(hole.url)
    let first = other.serializingData()
    try await eventually("it is resumed") { other.isResumed }
    other.suspend()
    let second = other.serializingData()
    await session.loopTurn()
    #expect(other.isSuspended)
    other.cancel()
    #expect(await first.response.error?.isExplicitlyCancelledError == true)
    #expect(await second.response.error?.isExplicitlyCancelledError == true)
    let manual = session.request(hole.url, shouldAutomaticallyResume: false).suspend()
    let third = manual.serializingData()
    await session.loopTurn()
    #expect(manual.isSuspended)
    manual.cancel()
    _ = await third.response
  }

  @Test("A task's verbs are the request's")
  func verbs() async throws {
    let hole = try BlackHole()
    let session = Session()
    let request = session.request(hole.url)
    let task = request.serializingData()
    try await eventually("it is resumed") { request.isResumed }
    task.suspend()
    #expect(request.isSuspended)
    task.resume()
    #expect(request.isResumed)
    task.cancel()
    #expect(request.isCancelled)
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
  }

  // MARK: Cancelling automatically

  @Test("Cancelling a Swift task that awaits cancels the request if so wanted", arguments: [true, false])
  func cancellingTheAwaiter(_ cancels: Bool) async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("x")), .awaitClose))
    let session = Session()
    let request = session.request(server.url)
    let task = request.serializingString(automaticallyCancelling: cancels)
    let awaiter = Task { await task.response }
    try await eventually("it has arrived") { !server.received().isEmpty }
    awaiter.cancel()
    if cancels {
      #expect(await awaiter.value.error?.isExplicitlyCancelledError == true)
      #expect(request.isCancelled)
    }
    gate.open()
    if !cancels {
      #expect(await awaiter.value.value == "x")
      #expect(request.isFinished)
    }
    await session.loopTurn()
  }

  @Test(
    "Made in a cancelled task, the request is cancelled if so wanted, and the await ends", arguments: [true, false])
  func cancelledBefore(_ cancels: Bool) async throws {
    let server = try answering(okResponse("x"))
    let session = Session()
    let started = Latch()
    let awaiter = Task {
      await started.wait()
      while !Task.isCancelled { await Task.yield() }
      return await session.request(server.url).serializingString(automaticallyCancelling: cancels).response
    }
    started.open()
    awaiter.cancel()
    let response = await awaiter.value
    #expect(response.error?.isExplicitlyCancelledError == (cancels ? true : nil))
    #expect(response.value == (cancels ? nil : "x"))
    #expect(server.allRequests.count == (cancels ? 0 : 1))
  }

  @Test("One awaiter's choice does not shield the request from another's")
  func mixedAwaiters() async throws {
    let hole = try BlackHole()
    let session = Session()
    let request = session.request(hole.url)
    let patient = request.serializingData(automaticallyCancelling: false)
    let eager = request.serializingData()
    let awaiter = Task { await eager.response }
    try await eventually("it has arrived") { !hole.received().isEmpty }
    awaiter.cancel()
    #expect(await patient.response.error?.isExplicitlyCancelledError == true)
    _ = await awaiter.value
  }

  @Test("An awaiter that is cancelled after the response has come changes nothing")
  func cancelledAfter() async throws {
    let server = try answering(okResponse("x"))
    let session = Session()
    let request = session.request(server.url)
    let task = request.serializingString()
    _ = await task.response
    let awaiter = Task {
      while !Task.isCancelled { await Task.yield() }
      return await task.response
    }
    awaiter.cancel()
    #expect(await awaiter.value.value == "x")
    #expect(request.isFinished)
    await session.loopTurn()
  }

  @Test("A task group that fails leaves no request running")
  func group() async throws {
    let hole = try BlackHole()
    let session = Session()
    let requests = (0..<3).map { _ in session.request(hole.url) }
    await #expect(throws: SampleError.self) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for request in requests { group.addTask { _ = try await request.serializingData().value } }
        group.addTask {
          try await eventually("all have arrived") { hole.connectionCount == 3 }
          throw SampleError()
        }
        for try await _ in group {}
      }
    }
    #expect(requests.allSatisfy { $0.isCancelled })
    for request in requests { await request.settled() }
    #expect(await session.activeRequests.isEmpty)
  }

  // MARK: The session's executor

  @Test("A task on the session's executor stays on the loop's thread across its awaits")
  func executor() async throws {
    let server = try answering(okResponse("x"))
    let session = Session()
    let threads = Journal<pthread_t>()
    session.withAllRequests { _ in threads.append(pthread_self()) }
    let work = Task(executorPreference: session.executor) {
      threads.append(pthread_self())
      for _ in 0..<3 {
        #expect(await session.request(server.url).serializingString().response.value == "x")
        threads.append(pthread_self())
      }
    }
    await work.value
    #expect(threads.entries.count == 5)
    #expect(Set(threads.entries).count == 1)
  }

  @Test("The executor outlives its session while a task runs on it")
  func executorOutlivesItsSession() async throws {
    let value = await {
      let session = Session()
      return Task(executorPreference: session.executor) {
        for _ in 0..<100 { await Task.yield() }
        return 7
      }
    }().value
    #expect(value == 7)
  }

  // MARK: Streams

  @Test("Progress comes as a stream, which ends with the request")
  func downloadProgress() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(
        .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"), .wait(gate), .send("half"), .awaitClose))
    let session = Session(startRequestsImmediately: false)
    let request = session.request(server.url)
    let progress = request.downloadProgress()
    let task = request.resume().serializingString()
    var counts: [Int64] = []
    for await step in progress {
      counts.append(step.completedUnitCount)
      #expect(step.totalUnitCount == 8)
      gate.open()
    }
    #expect(await task.response.value == "halfhalf")
    #expect(counts.last == 8)
    #expect(counts == counts.sorted())
  }

  @Test("Upload progress ends with the whole body")
  func uploadProgress() async throws {
    let server = try answeringInTurn(okResponse("x"))
    let session = Session(startRequestsImmediately: false)
    var urlRequest = try URLRequest(url: server.url, method: .put)
    urlRequest.httpBody = Data(repeating: 1, count: 2_000_000)
    let request = session.request(urlRequest)
    let progress = request.uploadProgress()
    let task = request.resume().serializingString()
    var last: (sent: Int64, total: Int64) = (0, 0)
    for await step in progress { last = (step.completedUnitCount, step.totalUnitCount) }
    #expect(await task.response.value == "x")
    #expect(last.sent == 2_000_000)
    #expect(last.total == 2_000_000)
  }

  @Test("URL requests, tasks, command lines and heads: one per attempt, then the end")
  func streamsOfAttempts() async throws {
    let server = try answeringInTurn(response("503 Busy"), okResponse("x"))
    let session = Session(
      startRequestsImmediately: false, interceptor: RetryPolicy(exponentialBackoffScale: 0))
    let request = session.request(server.url).validate()
    let (urlRequests, tasks) = (request.urlRequests(), request.urlSessionTasks())
    let (commands, heads) = (request.cURLDescriptions(), request.httpResponses())
    let task = request.resume().serializingString()
    #expect(await task.response.value == "x")
    #expect(await collect(urlRequests).map(\.url?.absoluteString) == [server.url, server.url])
    #expect(await collect(tasks) == request.tasks)
    #expect(await collect(commands).count == 2)
    #expect(await collect(heads).map(\.statusCode) == [503, 200])
  }

  @Test("A later closure takes a stream's place, which then ends; one after the end is empty")
  func replaced() async throws {
    let server = try answering(okResponse("x"))
    let session = Session(startRequestsImmediately: false)
    let request = session.request(server.url)
    let stream = request.downloadProgress()
    let closures = Journal<Int64>()
    request.downloadProgress { closures.append($0.completedUnitCount) }
    #expect(await collect(stream).isEmpty)
    _ = await request.resume().serializingString().response
    await closures.wait { !$0.isEmpty }
    #expect(await collect(request.downloadProgress()).isEmpty)
    #expect(await collect(request.urlRequests()).count <= 1)
  }

  @Test("A stream of a request that is cancelled, or let go unstarted, ends")
  func endOfStreams() async throws {
    let hole = try BlackHole()
    let session = Session(startRequestsImmediately: false)
    let request = session.request(hole.url)
    let stream = request.downloadProgress()
    request.resume()
    request.cancel()
    #expect(await collect(stream).isEmpty)
    let orphan = session.request(hole.url).downloadProgress()
    #expect(await collect(orphan).isEmpty)
  }

  @Test("Leaving the loop over a stream of progress does not touch the request")
  func leavingTheLoop() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(
        .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"), .wait(gate), .send("half"), .awaitClose))
    let session = Session(startRequestsImmediately: false)
    let request = session.request(server.url)
    let progress = request.downloadProgress()
    let task = request.resume().serializingString()
    for await _ in progress { break }
    gate.open()
    #expect(await task.response.value == "halfhalf")
    #expect(request.isFinished)
  }

  @Test("The head is awaited: the body is not read before the closure has returned; its answer may cancel")
  func asyncHeads() async throws {
    let server = try answering(okResponse("x"))
    let session = Session()
    let opened = Latch()
    let seen = Journal<Int>()
    let request = session.request(server.url).onHTTPResponse { head in
      await opened.wait()
      seen.append(head.statusCode)
    }
    let task = request.serializingString()
    try await eventually("it has arrived") { request.response != nil }
    for _ in 0..<10 { await session.loopTurn() }
    #expect(request.data == nil)
    opened.open()
    #expect(await task.response.value == "x")
    #expect(seen.entries == [200])
    let cancelled = session.request(server.url).onHTTPResponse { _ -> Request.ResponseDisposition in .cancel }
    #expect(await cancelled.serializingString().response.error?.isExplicitlyCancelledError == true)
  }

  private func collect<Element>(_ stream: StreamOf<Element>) async -> [Element] {
    var elements: [Element] = []
    for await element in stream { elements.append(element) }
    return elements
  }
}
