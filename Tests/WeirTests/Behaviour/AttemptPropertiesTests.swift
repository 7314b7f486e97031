import Dispatch
import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// What a request shows of its attempts.
@Suite("§6.2 Properties of attempts", .timeLimit(.minutes(5)))
struct AttemptPropertiesTests {
  private let refused = response("401 Unauthorized", body: "no")

  /// Tries once more, after whatever error.
  private static let once = Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) }

  private static func look(at request: Request?) -> String {
    let status = request?.response.map { "\($0.statusCode)" } ?? "-"
    let metrics = request?.metrics?.statusCode.map { "\($0)" } ?? "-"
    let isDescribed = request?.description.hasSuffix("(401)") == true
    return "\(request?.request?.httpMethod ?? "-") \(status) \(metrics) \(isDescribed)"
  }

  @Test("While a retry is set up, request, response and metrics are those of the attempt before")
  func duringSetup() async throws {
    let server = try answeringInTurn(refused, okResponse("fine"))
    let (slot, seen) = (RequestSlot(), Journal<String>())
    let adapter = Adapter { urlRequest, _, completion in
      seen.append("adapter \(Self.look(at: slot.request))")
      completion(.success(urlRequest))
    }
    let recorder = EventRecorder { name in
      if ["isRetrying", "createTask"].contains(name) { seen.append("\(name) \(Self.look(at: slot.request))") }
    }
    let session = Session(
      startRequestsImmediately: false, interceptor: Interceptor(adapters: [adapter], retriers: [Self.once]),
      eventMonitors: [recorder])
    let request = session.request(server.url) { _ in seen.append("modifier \(Self.look(at: slot.request))") }
      .validate()
    slot.request = request
    let task = request.serializingString()
    #expect(await request.resume().plainResponse().error == nil)
    #expect(await task.response.response?.statusCode == 200)
    #expect(
      seen.entries == [
        "modifier - - - false", "adapter GET - - false", "createTask GET - - false",
        "isRetrying GET 401 401 true", "modifier GET 401 401 true", "adapter GET 401 401 true",
        "createTask GET - 401 false",
      ])
    #expect(recorder.violations.entries == [])
    slot.request = nil
  }

  @Test("A retry that gets no response has none; a response is of the last attempt alone")
  func withoutAResponse() async throws {
    let server = try ScriptedServer(
      Script(.head, .send(response("401 Unauthorized", ["Connection: close"]))), Script(.head, .close))
    let session = Session(interceptor: Self.once)
    let request = session.request(server.url).validate()
    #expect(await request.plainResponse().error?.urlErrorCode == .networkConnectionLost)
    #expect(request.response == nil)
    #expect(request.metrics?.statusCode == nil)
  }

  @Test("A retry that can't be adapted is not taken for the response before, by policies and handlers")
  func withoutATask() async throws {
    let server = try answering(response("503 Busy"))
    let adapted = Journal<Bool>()
    let adapter = Adapter { urlRequest, _, completion in
      adapted.append(true)
      completion(adapted.entries.count == 1 ? .success(urlRequest) : .failure(SampleError()))
    }
    let policy = RetryPolicy(retryLimit: 3, exponentialBackoffScale: 0)
    let session = Session(interceptor: Interceptor(adapters: [adapter], retriers: [policy]))
    let request = session.request(server.url).validate()
    let response = await request.plainResponse()
    #expect(response.error?.isRequestAdaptationError == true)
    #expect(response.response == nil && response.metrics == nil)
    #expect(request.retryCount == 1, "a policy that repeats a 503 has no say in an adapter's error")
    #expect(request.response?.statusCode == 503 && request.lastMetrics?.statusCode == 503)
  }

  @Test("First and last of everything, and the queue of its serializers")
  func firstAndLast() async throws {
    let server = try answeringInTurn(refused, okResponse("fine"))
    let adapter = Adapter { urlRequest, _, completion in
      var urlRequest = urlRequest
      urlRequest.setValue("1", forHTTPHeaderField: "X-Adapted")
      completion(.success(urlRequest))
    }
    let queue = DispatchQueue(label: "serialization")
    let session = Session(
      serializationQueue: queue, interceptor: Interceptor(adapters: [adapter], retriers: [Self.once]))
    let request = session.request(server.url).validate()
    #expect(request.firstRequest == nil && request.firstTask == nil && request.lastTask == nil)
    #expect(await request.serializingString().response.value == "fine")
    #expect(request.requests.map { $0.headers["X-Adapted"] } == [nil, "1", nil, "1"])
    #expect(request.firstRequest == request.requests.first)
    #expect(request.lastRequest == request.requests.last && request.request == request.lastRequest)
    #expect(request.tasks.count == 2)
    #expect(request.firstTask == request.tasks.first)
    #expect(request.lastTask == request.tasks.last && request.task == request.lastTask)
    #expect(request.firstMetrics == request.allMetrics.first && request.lastMetrics == request.allMetrics.last)
    #expect(request.allMetrics.map(\.statusCode) == [401, 200])
    #expect(request.serializationQueue === queue)
    let other = Session().request(server.url)
    #expect(other.serializationQueue === other.underlyingQueue)
  }

  @Test("The last closure set hears of each attempt's URL request and task, and of the latest at once")
  func closures() async throws {
    let server = try answeringInTurn(refused, okResponse("fine"))
    let adapter = Adapter { urlRequest, _, completion in
      var urlRequest = urlRequest
      urlRequest.setValue("1", forHTTPHeaderField: "X-Adapted")
      completion(.success(urlRequest))
    }
    let session = Session(
      startRequestsImmediately: false, interceptor: Interceptor(adapters: [adapter], retriers: [Self.once]))
    let (calls, late) = (Journal<String>(), Journal<String>())
    let queue = DispatchQueue(label: "mine")
    let request = session.request(server.url).validate()
    for name in ["first", "second"] {
      request
        .onURLRequestCreation(on: queue) { calls.append("\(name) \($0.headers["X-Adapted"] ?? "-")") }
        .onURLSessionTaskCreation(on: queue) { calls.append("\(name) task \($0.taskIdentifier)") }
    }
    #expect(await request.resume().plainResponse().error == nil)
    await calls.wait { $0.count >= 4 }
    #expect(calls.entries == ["second 1", "second task 1", "second 1", "second task 2"])
    request
      .onURLRequestCreation(on: queue) { late.append("request \($0.headers["X-Adapted"] ?? "-")") }
      .onURLSessionTaskCreation(on: queue) { late.append("task \($0.taskIdentifier)") }
    await late.wait { $0.count >= 2 }
    #expect(late.entries == ["request 1", "task 2"])
  }
}
