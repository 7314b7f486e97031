import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirIO
import WeirTestSupport

/// Cancel at whatever moment: each request ends once, and leaves nothing behind.
@Suite("Cancellation anywhere", .timeLimit(.minutes(5)))
struct CancellationAnywhereTests {
  // MARK: At every event

  @Test("Cancelling in the middle of any event ends the request once, and its task")
  func atEveryEvent() async throws {
    var count = 1
    var index = 0
    while index < count {
      let (names, position) = (Journal<String>(), index)
      let slot = RequestSlot()
      let recorder = EventRecorder(into: names, notingAttempts: true) { _ in
        if names.entries.count == position { slot.request?.cancel() }
      }
      let server = try answeringInTurn(
        response("302 Found", ["Location: /next"]), response("503 Busy", body: "x"), okResponse("fine"))
      let session = Session(
        startRequestsImmediately: false,
        interceptor: Interceptor(
          adapters: [Adapter { $2(.success($0)) }], retriers: [Retrier { $3($0.retryCount < 3 ? .retry : .doNotRetry) }]
        ),
        eventMonitors: [recorder])
      weak var observed: DataRequest?
      do {
        let request = session.request(server.url).validate()
        observed = request
        slot.request = request
        let calls = Journal<String>()
        request.responseString { calls.append($0.error?.label ?? "success") }
        request.resume()
        await calls.wait { !$0.isEmpty }
        await request.settled()
        let isOpen = position > 0 && names.entries.prefix(position).last?.hasPrefix("settle") != true
        #expect(calls.entries == [isOpen ? "explicitly_cancelled" : "success"], "\(names.entries)")
        #expect(request.tasks.count == request.allMetrics.count, "\(names.entries)")
        #expect(request.tasks.allSatisfy { $0.state == .completed }, "\(names.entries)")
        #expect(recorder.violations.entries == [])
        #expect(names.entries.count { $0.hasPrefix("settle") } == 1)
      }
      if position == 0 { count = names.entries.count + 1 }
      slot.request = nil
      try await eventually("the request is gone, cancelled at \(names.entries.prefix(position).last ?? "-")") {
        await session.loopTurn()
        return observed == nil
      }
      index += 1
    }
    #expect(count > 30)
  }

  // MARK: At random

  @Test("A body's memory is the caller's, who may cancel other requests when it is let go of")
  func bodiesThatCancelWhenTheyGo() async throws {
    let hole = try BlackHole()
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = 200
    let session = Session(configuration: configuration)
    var others: [DataRequest] = []
    for number in 0..<80 {
      others.append(session.request(hole.url + "\(number)").resume())
      await session.loopTurn()
    }
    try await eventually("all are on their way") { hole.connectionCount == 80 }
    let tasks = others.compactMap(\.task)
    #expect(tasks.count == 80)
    // In one turn of the loop, so that the transfers' errands are what holds the bodies last.
    let url = try #require(URL(string: hole.url))
    session.withAllRequests { _ in
      for index in 0..<8 {
        let mine = tasks[(index * 10)..<(index * 10 + 10)]
        var urlRequest = URLRequest(url: url)
        urlRequest.httpMethod = "POST"
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 1)
        memory.initializeMemory(as: UInt8.self, repeating: 97, count: 100)
        urlRequest.httpBody = Data(
          bytesNoCopy: memory, count: 100,
          deallocator: .custom { memory, _ in
            memory.deallocate()
            for task in mine { task.cancel() }
          })
        session.request(urlRequest).resume().cancel()
      }
    }
    for other in others { #expect(await other.serializingData().response.error?.urlErrorCode == .cancelled) }
    #expect(await session.activeRequests.isEmpty)
  }

  @Test("Thousands of requests cancelled at random times all settle once and leave nothing behind")
  func atRandom() async throws {
    let server = try ScriptedServer(.answering(okResponse("body", "Content-Type: text/plain\r\n")))
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = 8
    configuration.maximumPendingRequestsPerHost = 100_000
    let settled = SettleCounter()
    let session = Session(
      configuration: configuration, serializationQueue: DispatchQueue(label: "s", attributes: .concurrent),
      interceptor: ErraticInterceptor(), redirectHandler: .follow, eventMonitors: [settled])
    let observed = Mutex<[WeakRequest]>([])
    let calls = Mutex<[Int]>([])
    let count = 3_000
    calls.withLock { $0 = Array(repeating: 0, count: count) }
    let delivered = Journal<Int>()
    var random = SeededRandom(seed: 20_26)
    for round in 0..<(count / 100) {
      for index in (round * 100)..<(round * 100 + 100) {
        let request = session.request(server.url).validate()
        observed.withLock { $0.append(WeakRequest(request: request)) }
        request.responseString { _ in
          calls.withLock { $0[index] += 1 }
          delivered.append(index)
        }
        chaos(request, random.next())
      }
      await delivered.wait { $0.count >= round * 100 }
    }
    await delivered.wait { $0.count == count }
    await settled.wait(for: count)
    #expect(calls.withLock { $0.allSatisfy { $0 == 1 } })
    #expect(settled.duplicates == 0)
    #expect(await session.activeRequests.isEmpty)
    await session.loopTurn()
    try await eventually("all are gone") { observed.withLock { $0.allSatisfy { $0.request == nil } } }
    #expect(settled.outcomes.contains(.cancelled) && settled.outcomes.contains(.success))
  }

  /// Uses the request's verbs from other threads, after as many yields as the seed says.
  private func chaos(_ request: DataRequest, _ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    guard random.next() % 10 != 0 else { return }
    let microseconds = [0, 0, 50, 200, 500, 1_000, 3_000].randomElement(using: &random) ?? 0
    let suspends = random.next() % 4 == 0
    DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(microseconds)) {
      if suspends {
        request.suspend()
        DispatchQueue.global().async { request.resume() }
      } else {
        request.cancel()
      }
    }
  }
}

private struct WeakRequest: Sendable {
  weak var request: DataRequest?
}

/// Counts how often requests settle.
private final class SettleCounter: InlineEventMonitor {
  private let state = Mutex((seen: [ObjectIdentifier: Int](), outcomes: Set<RequestOutcome>()))
  private let count = Journal<UUID>()

  var interests: EventInterests { .attempts }
  var duplicates: Int { Set(count.entries).count - count.entries.count }
  var outcomes: Set<RequestOutcome> { state.withLock { $0.outcomes } }

  func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    state.withLock { _ = $0.outcomes.insert(outcome) }
    count.append(request.id)
  }

  func wait(for total: Int) async {
    await count.wait { $0.count >= total }
  }
}

/// Answers at once, later, on other threads, with success, failures, retries and delays.
private final class ErraticInterceptor: RequestInterceptor {
  private let random = Mutex(SeededRandom(seed: 7))

  private func next() -> UInt64 { random.withLock { $0.next() } }

  func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    let result: Result<URLRequest, any Error> = next() % 16 == 0 ? .failure(SampleError()) : .success(urlRequest)
    if next() % 3 == 0 { DispatchQueue.global().async { completion(result) } } else { completion(result) }
  }

  func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    let result: RetryResult =
      switch next() % 4 {
      case 0: .retry
      case 1: .retryWithDelay(0.001)
      case 2: .doNotRetry
      default: .doNotRetryWithError(SampleError())
      }
    if next() % 3 == 0 { DispatchQueue.global().async { completion(result) } } else { completion(result) }
  }
}
