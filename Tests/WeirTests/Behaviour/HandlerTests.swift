import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// Who gets a response, how often, in which order and where.
@Suite("Handlers", .timeLimit(.minutes(5)))
struct HandlerTests {
  @Test("Several handlers get one response each, in their order, after the last serializer")
  func several() async throws {
    let server = try answering(okResponse("41"))
    // It starts when all handlers are there: a quick answer would find some of them too late.
    let session = Session(startRequestsImmediately: false)
    let order = Journal<String>()
    let done = Latch()
    let request = session.request(server.url)
    request
      .responseString { order.append("string \($0.value ?? "-") \(request.state)") }
      .responseDecodable(of: Int.self) { order.append("int \($0.value ?? -1)") }
      .response { order.append("plain \($0.data?.count ?? -1)") }
      .response(responseSerializer: .data) { order.append("data \($0.value?.count ?? -1)") }
      .response(responseSerializer: Slow()) {
        order.append("slow \($0.value ?? "-")")
        done.open()
      }
      .resume()
    await done.wait()
    #expect(order.entries == ["string 41 finished", "int 41", "plain 2", "data 2", "slow done"])
    #expect(server.connectionCount == 1)
  }

  /// Ends after the others' values are there.
  private struct Slow: DataResponseSerializerProtocol {
    func serialize(
      request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> String { "done" }
  }

  @Test func lateHandlersGetTheStoredResult() async throws {
    let server = try ScriptedServer(Script(.head, .send(okResponse("1"))), Script(.head, .send(okResponse("2"))))
    let session = Session()
    let request = session.request(server.url)
    let first = await request.serializingDecodable(Int.self).response
    let order = Journal<Int>()
    for index in 1...20 { request.responseDecodable(of: Int.self) { order.append(index * ($0.value ?? 0)) } }
    await order.wait { $0.count == 20 }
    #expect(order.entries == Array(1...20))
    let again = await request.serializingDecodable(Int.self).response
    #expect(first.value == 1)
    #expect(again.value == 1)
    #expect(again.metrics == first.metrics)
    await session.loopTurn()
    #expect(request.state == .finished)
    #expect(server.connectionCount == 1)
  }

  @Test("A late handler that takes its time is not overtaken by the next")
  func lateHandlersKeepTheirOrder() async throws {
    let body = String(repeating: "1", count: 1 << 20)
    let server = try ScriptedServer(Script(.head, .send(okResponse(body))))
    let session = Session()
    let request = session.request(server.url)
    _ = await request.serializingData().response
    let order = Journal<Int>()
    for index in 0..<20 {
      if index % 2 == 0 {
        request.responseString { _ in order.append(index) }
      } else {
        request.response { _ in order.append(index) }
      }
      await session.loopTurn()
    }
    await order.wait { $0.count == 20 }
    #expect(order.entries == Array(0..<20))
  }

  @Test("Cancelling after the end changes nothing that was delivered, and later handlers still get the result")
  func cancelAfterTheEnd() async throws {
    let server = try answering(okResponse("1"))
    let session = Session()
    let request = session.request(server.url)
    let calls = Journal<String>()
    let done = Latch()
    request.responseString { response in
      calls.append(response.value ?? "-")
      request.cancel()
      done.open()
    }
    await done.wait()
    await session.loopTurn()
    #expect(calls.entries == ["1"])
    #expect(request.isFinished)
    #expect(await request.serializingString().response.value == "1")
  }

  @Test func aHandlerAddedInAHandlerIsServed() async throws {
    let server = try answering(okResponse("1"))
    let session = Session()
    let request = session.request(server.url)
    let values = Journal<String>()
    request.responseString { first in
      values.append(first.value ?? "-")
      request.responseString { values.append("later " + ($0.value ?? "-")) }
    }
    await values.wait { $0.count == 2 }
    #expect(values.entries == ["1", "later 1"])
    await session.loopTurn()
  }

  @Test("A request whose session is gone fails, and its handlers are called")
  func sessionIsGone() async throws {
    let request = Session(startRequestsImmediately: false).request("http://127.0.0.1:1/")
    let response = await request.resume().plainResponse()
    #expect(response.error?.isSessionDeinitializedError == true)
  }

  // MARK: Queues

  @Test func explicitQueues() async throws {
    let server = try answering(okResponse("1"))
    let session = Session()
    let key = DispatchSpecificKey<String>()
    let queue = DispatchQueue(label: "handlers")
    queue.setSpecific(key: key, value: "mine")
    let found = Journal<String?>()
    session.request(server.url)
      .responseString(queue: queue) { _ in found.append(DispatchQueue.getSpecific(key: key)) }
      .responseString { _ in found.append(DispatchQueue.getSpecific(key: key)) }
    await found.wait { $0.count == 2 }
    #expect(found.entries.contains("mine"))
    #expect(found.entries.contains(nil))
  }

  @Test("A request's queue runs its further handlers, one after another with the caller's own work")
  func underlyingQueue() async throws {
    let server = try answering(okResponse("1"))
    let key = DispatchSpecificKey<String>()
    let request = Session().request(server.url)
    let order = Journal<String>()
    request.response { _ in
      order.append("first")
      request.underlyingQueue.setSpecific(key: key, value: "own")
      request.underlyingQueue.async { order.append("work") }
    }
    for _ in 0..<3 { request.response { _ in order.append(DispatchQueue.getSpecific(key: key) ?? "elsewhere") } }
    await order.wait { $0.count == 5 }
    #expect(order.entries == ["first", "work", "own", "own", "own"])
  }

  @Test("Without a queue, the handlers of one request never overlap, on whatever queue the session has")
  func handlersDoNotOverlap() async throws {
    let server = try answering(okResponse("1"))
    var configuration = SessionConfiguration.default
    let key = DispatchSpecificKey<String>()
    let queue = DispatchQueue(label: "completion", attributes: .concurrent)
    queue.setSpecific(key: key, value: "completion")
    configuration.completionQueue = queue
    let session = Session(configuration: configuration)
    let running = Mutex(0)
    let order = Journal<Int>()
    let request = session.request(server.url)
    for index in 0..<50 {
      request.response { _ in
        #expect(
          running.withLock {
            $0 += 1; return $0
          } == 1)
        #expect(DispatchQueue.getSpecific(key: key) == "completion")
        order.append(index)
        running.withLock { $0 -= 1 }
      }
    }
    await order.wait { $0.count == 50 }
    #expect(order.entries == Array(0..<50))
  }

  @Test("On the event loop, handlers, observers and progress run on its thread, late handlers too")
  func handlersOnTheLoop() async throws {
    let server = try answering(okResponse(String(repeating: "x", count: 200_000)))
    var configuration = SessionConfiguration.default
    configuration.handlerExecution = .eventLoop
    let session = Session(configuration: configuration)
    let threads = Journal<pthread_t>()
    session.withAllRequests { _ in threads.append(pthread_self()) }
    let request = session.request(server.url)
      .downloadProgress { _ in threads.append(pthread_self()) }
      .onURLRequestCreation { _ in threads.append(pthread_self()) }
      .onHTTPResponse { _ in threads.append(pthread_self()) }
    let done = Latch()
    request.responseString { _ in
      threads.append(pthread_self())
      done.open()
    }
    await done.wait()
    let late = Latch()
    request.responseString { _ in
      threads.append(pthread_self())
      late.open()
    }
    await late.wait()
    #expect(threads.entries.count >= 6)
    #expect(Set(threads.entries).count == 1)
  }

  struct Queues: CustomTestStringConvertible, Sendable {
    var root: DispatchQueue?
    var request: DispatchQueue?
    var serialization: DispatchQueue?
    let testDescription: String

    static let all: [Queues] = {
      func serial(_ name: String) -> DispatchQueue { DispatchQueue(label: name) }
      func concurrent(_ name: String) -> DispatchQueue { DispatchQueue(label: name, attributes: .concurrent) }
      let one = serial("all")
      return [
        Queues(testDescription: "none"),
        Queues(root: serial("root"), testDescription: "root"),
        Queues(root: concurrent("root"), testDescription: "concurrent root"),
        Queues(request: serial("request"), testDescription: "request"),
        Queues(serialization: concurrent("serialization"), testDescription: "concurrent serialization"),
        Queues(
          root: concurrent("root"), request: concurrent("request"), serialization: concurrent("serialization"),
          testDescription: "all concurrent"),
        Queues(root: one, request: one, serialization: one, testDescription: "one for all"),
      ]
    }()
  }

  @Test("Order and results are the same for every choice of queues", arguments: Queues.all)
  func queueOptions(_ queues: Queues) async throws {
    let server = try ScriptedServer(
      Script(
        .head, .send(response("503 Busy", body: "0")), .head, .send(response("302 Found", ["Location: /there"])),
        .head, .send(okResponse("17")), .awaitClose))
    let recorder = EventRecorder(notingAttempts: true)
    let steps = Journal<String>()
    let interceptor = Interceptor(
      adapters: [
        Adapter { request, _, completion in
          steps.append("adapt 1")
          completion(.success(request))
        },
        Adapter { request, _, completion in
          steps.append("adapt 2")
          completion(.success(request))
        },
      ],
      retriers: [
        Retrier { _, _, _, completion in
          steps.append("retry 1")
          completion(.doNotRetry)
        },
        Retrier { _, _, _, completion in
          steps.append("retry 2")
          completion(.retry)
        },
      ])
    let session = Session(
      rootQueue: queues.root, requestQueue: queues.request, serializationQueue: queues.serialization,
      interceptor: interceptor,
      redirectHandler: .modify { _, request, _ in
        steps.append("redirect")
        return request
      }, eventMonitors: [recorder])
    let request = session.request(server.url) { $0.httpShouldHandleCookies = false }
      .validate { _, response, _ in
        steps.append("validate \(response.statusCode)")
        return response.statusCode == 200 ? .success(()) : .failure(SampleError())
      }
    async let text = request.serializingString().value
    async let number = request.serializingDecodable(Int.self).value
    #expect(try await text == "17")
    #expect(try await number == 17)
    await session.loopTurn()
    #expect(
      steps.entries == [
        "adapt 1", "adapt 2", "validate 503", "retry 1", "retry 2", "adapt 1", "adapt 2", "redirect", "validate 200",
      ])
    #expect(recorder.violations.entries == [])
    #expect(
      recorder.names == [
        "resume", "createInitial", "adaptUsing(Adapter)", "adaptUsing(Adapter)", "adapt", "create", "createTask",
        "resumeTask", "startAttempt(1)", "·response", "·data", "·metrics", "gatherMetrics", "·complete",
        "validate(failure)", "completeTask", "endAttempt(1, custom_validation_failed)",
        "willRetry(backoff, custom_validation_failed)", "isRetrying", "createInitial", "adaptUsing(Adapter)",
        "adaptUsing(Adapter)", "adapt", "create", "createTask", "resumeTask", "startAttempt(2)", "·redirect",
        "·response", "·data", "·metrics", "gatherMetrics", "·complete", "validate(success)", "completeTask",
        "endAttempt(2)", "finish", "parse", "parse", "settle(success)",
      ])
  }

  @Test("A later adapter runs where its predecessor answered; so does a later retrier")
  func successorsFollow() async throws {
    let server = try answering(response("503 Busy"))
    let key = DispatchSpecificKey<String>()
    func queue(_ name: String) -> DispatchQueue {
      let queue = DispatchQueue(label: name)
      queue.setSpecific(key: key, value: name)
      return queue
    }
    let (requests, root, elsewhere) = (queue("request"), queue("root"), queue("elsewhere"))
    let found = Journal<String>()
    let note: @Sendable (String) -> Void = { found.append("\($0) on \(DispatchQueue.getSpecific(key: key) ?? "-")") }
    let interceptor = Interceptor(
      adapters: [
        Adapter { request, _, completion in
          note("adapter 1")
          elsewhere.async { completion(.success(request)) }
        },
        Adapter { request, _, completion in
          note("adapter 2")
          completion(.success(request))
        },
      ],
      retriers: [
        Retrier { _, _, _, completion in
          note("retrier 1")
          elsewhere.async { completion(.doNotRetry) }
        },
        Retrier { _, _, _, completion in
          note("retrier 2")
          completion(.doNotRetry)
        },
      ])
    let session = Session(rootQueue: root, requestQueue: requests, interceptor: interceptor)
    _ = await session.request(server.url).validate().plainResponse()
    #expect(
      found.entries == [
        "adapter 1 on request", "adapter 2 on elsewhere", "retrier 1 on root", "retrier 2 on elsewhere",
      ])
  }

  @Test("Each stage's user code runs where the session was told to run it")
  func placesOfUserCode() async throws {
    let server = try ScriptedServer(
      Script(.head, .send(response("302 Found", ["Location: /x"])), .head, .send(okResponse("1")), .awaitClose))
    let key = DispatchSpecificKey<String>()
    func queue(_ name: String) -> DispatchQueue {
      let queue = DispatchQueue(label: name, attributes: .concurrent)
      queue.setSpecific(key: key, value: name)
      return queue
    }
    let found = Journal<String>()
    let note: @Sendable (String) -> Void = { found.append("\($0) on \(DispatchQueue.getSpecific(key: key) ?? "-")") }
    struct Noting: DataResponseSerializerProtocol {
      let note: @Sendable (String) -> Void
      func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
      ) throws -> Bool {
        note("serializer")
        return true
      }
    }
    let session = Session(
      rootQueue: queue("root"), requestQueue: queue("request"), serializationQueue: queue("serialization"))
    let request = session.request(server.url) { _ in note("modifier") }
      .redirect(
        using: .modify { _, request, _ in
          note("redirect")
          return request
        }
      )
      .validate { _, _, _ in
        note("validator")
        return .success(())
      }
    _ = await request.serializingResponse(using: Noting(note: note)).response
    #expect(
      found.entries == [
        "modifier on request", "redirect on root", "validator on root", "serializer on serialization",
      ])
  }
}
