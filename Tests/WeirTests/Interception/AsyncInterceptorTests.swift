import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

@Suite("§16 Async adapters and retriers", .slow, .timeLimit(.minutes(5)))
struct AsyncInterceptorTests {
  /// Waits until it is cancelled, and notes both.
  private static func hang(_ journal: Journal<String>) async {
    journal.append("began")
    let stream = AsyncStream<Never> { _ in }
    for await _ in stream {}
    journal.append(Task.isCancelled ? "cancelled" : "ended")
  }

  @Test("An adapter returns the request, after waiting or at once, in the order of all adapters")
  func adapters() async throws {
    let server = try answering(okResponse("fine"))
    func appending(_ text: String, waits: Bool) -> Adapter {
      .adapter(name: text) { urlRequest, _ in
        if waits { await Task.yield() }
        var urlRequest = urlRequest
        urlRequest.headers["Order"] = (urlRequest.headers["Order"] ?? "") + text
        return urlRequest
      }
    }
    let list = Interceptor(adapters: [
      appending("a", waits: false), appending("b", waits: true), Interception.setting("Between", "1"),
      appending("c", waits: false),
    ])
    let session = Session(interceptor: list)
    #expect(await session.answer(server.url).value == "fine")
    #expect(server.allRequests.map { $0.value(of: "Order") } == ["abc"])
  }

  @Test("It is told the request and the session, also without a request")
  func state() async throws {
    let server = try answering(okResponse("fine"))
    let ids = Journal<UUID>()
    let adapter = Adapter { urlRequest, state in
      ids.append(state.requestID)
      _ = state.session
      return urlRequest
    }
    let session = Session(interceptor: adapter)
    let request = session.request(server.url)
    _ = await request.serializingString().response
    #expect(ids.entries == [request.id])
    let adapted = Journal<Bool>()
    adapter.adapt(try URLRequest(url: server.url, method: .get), for: session) {
      adapted.append((try? $0.get()) != nil)
    }
    await adapted.wait { $0 == [true] }
  }

  @Test("What it throws is the cause of a failed adaptation, measured under its name")
  func failure() async throws {
    final class Names: InlineEventMonitor {
      let names = Journal<String>()
      func request(_ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?) {
        names.append("\(name) \(error.map { "\($0)" } ?? "-")")
      }
    }
    let names = Names()
    let session = Session(
      interceptor: Adapter(name: "signer") { _, _ in throw SampleError() }, eventMonitors: [names])
    #expect(await session.answer("http://127.0.0.1:1/").error?.adaptationCause is SampleError)
    await names.names.wait { $0 == ["signer SampleError()"] }
    let unnamed = Session(interceptor: Adapter { urlRequest, _ in urlRequest }, eventMonitors: [names])
    _ = await unnamed.answer("http://127.0.0.1:1/")
    await names.names.wait { $0.last == "Adapter -" }
  }

  @Test("A retrier returns its answer, after waiting or at once")
  func retriers() async throws {
    let server = try answering(response("503 Busy"))
    let asked = Journal<String>()
    let retriers: [Retrier] = [
      .retrier(name: "no") { _, _, error in
        asked.append("no \(error.asWeirError?.responseCode ?? 0)")
        return .doNotRetry
      },
      Retrier(name: "twice") { request, _, _ in
        await Task.yield()
        asked.append("twice \(request.retryCount)")
        return request.retryCount < 2 ? .retry : .doNotRetryWithError(SampleError())
      },
    ]
    let session = Session(interceptor: Interceptor(retriers: retriers))
    #expect(await session.request(server.url).validate().plainResponse().error?.retryCause?.cause is SampleError)
    #expect(asked.entries == ["no 503", "twice 0", "no 503", "twice 1", "no 503", "twice 2"])
    #expect(retriers.map(\.name) == ["no", "twice"])
  }

  enum End: CaseIterable {
    case cancel, deadline, invalidation
  }

  @Test("A task is cancelled when its request ends", arguments: End.allCases, [true, false])
  func cancelled(_ end: End, isAdapter: Bool) async throws {
    let server = try answering(response("503 Busy"))
    let journal = Journal<String>()
    let interceptor: any RequestInterceptor =
      isAdapter
      ? Adapter(name: "a") { urlRequest, _ in
        await Self.hang(journal)
        return urlRequest
      }
      : Retrier(name: "r") { _, _, _ in
        await Self.hang(journal)
        return .retry
      }
    let session = Session(interceptor: interceptor)
    let request = session.request(server.url).validate()
    if end == .deadline { request.deadline(2) }
    request.resume()
    await journal.wait { $0 == ["began"] }
    switch end {
    case .cancel: request.cancel()
    case .deadline: break
    case .invalidation: session.invalidateAndCancel()
    }
    let error = await request.serializingString().response.error
    switch end {
    case .cancel: #expect(error?.isExplicitlyCancelledError == true)
    case .deadline: #expect(error?.urlErrorCode == .timedOut, "an adapter's time counts")
    case .invalidation: #expect(error?.isSessionInvalidatedError == true)
    }
    await journal.wait { $0 == ["began", "cancelled"] }
    #expect(request.retryCount == 0)
  }

  /// The first of two is at work when the request ends, and lets the next one have its turn.
  @Test("No further interceptor is asked about a request that has ended", arguments: End.allCases, [true, false])
  func nobodyElse(_ end: End, isAdapter: Bool) async throws {
    let server = try answering(response("503 Busy"))
    let asked = Journal<String>()
    let held = Held<Void>()
    /// As a subclass it is no list that is taken apart.
    final class List: Interceptor, @unchecked Sendable {}
    let list =
      isAdapter
      ? List(adapters: [
        Adapter { urlRequest, _, completion in held.keep { _ in completion(.success(urlRequest)) } },
        Adapter { urlRequest, _, completion in
          asked.append("second")
          completion(.success(urlRequest))
        },
      ])
      : List(retriers: [
        Retrier { _, _, _, completion in held.keep { _ in completion(.doNotRetry) } },
        Retrier { _, _, _, completion in
          asked.append("second")
          completion(.doNotRetry)
        },
      ])
    let session = Session(interceptor: list)
    let request = session.request(server.url).validate()
    if end == .deadline { request.deadline(2) }
    request.resume()
    await held.wait()
    switch end {
    case .cancel: request.cancel()
    case .deadline: break
    case .invalidation: session.invalidateAndCancel()
    }
    #expect(await request.serializingString().response.error != nil)
    held.answer(())
    #expect(asked.entries == [])
  }

  @Test(
    "One that answers at once begins and ends where adapters are called, and of another that was let go of nothing is kept"
  )
  func atOnce() async throws {
    let server = try answering(okResponse("fine"))
    let onLoop = Journal<Bool>()
    weak var weakRequest: DataRequest?
    do {
      let session = Session(
        interceptor: Adapter(name: "a") { [onLoop] urlRequest, state in
          onLoop.append(state.session.context.loop.isCurrent)
          return urlRequest
        })
      let request = session.request(server.url)
      weakRequest = request
      _ = await request.serializingString().response
      #expect(request.fields.withLock { $0.pendingAnswers.isEmpty })
    }
    #expect(onLoop.entries == [true])
    try await eventually("the request is gone") { weakRequest == nil }
  }

  @Test("A task's priority is not below that of the request's maker")
  func priority() async throws {
    let server = try answering(okResponse("fine"))
    let priorities = Journal<TaskPriority>()
    let session = Session(
      interceptor: Adapter(name: "a") { urlRequest, _ in
        await Task.yield()
        priorities.append(Task.currentPriority)
        return urlRequest
      })
    for priority in [TaskPriority.background, .medium, .high] {
      _ = await Task(priority: priority) { await session.answer(server.url).value }.value
    }
    #expect(zip(priorities.entries, [TaskPriority.background, .medium, .high]).allSatisfy { $0 >= $1 })
    #expect(priorities.entries.count == 3)
  }

  @Test("A subclass that overrides the session's form is asked in a request too")
  func subclass() async throws {
    final class Custom: Adapter, @unchecked Sendable {
      override func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
      ) {
        completion(.failure(SampleError()))
      }
    }
    let session = Session(interceptor: Custom({ $2(.success($0)) }))
    #expect(await session.answer("http://127.0.0.1:1/").error?.adaptationCause is SampleError)
  }
}

@Suite("Pending answers") struct PendingAnswerTests {
  @Test("Once, and not after the request's end")
  func once() throws {
    let session = Session()
    let request = try Interception.request(in: session)
    let values = Log<Int>()
    let answer = PendingAnswer(of: request) { values.append($0) }
    let left = Log<String>()
    answer.whenAbandoned { left.append("left") }
    answer(1)
    answer(2)
    request.cancel()
    #expect(values.values == [1])
    #expect(left.values == [])
    let late = PendingAnswer(of: request) { values.append($0) }
    late.whenAbandoned { left.append("late") }
    #expect(left.values == ["late"])
    late(3)
    #expect(values.values == [1])
    #expect(!late.isOpen)
  }

  /// Who waits a second time may find that the request has ended since.
  @Test("A handler that is added after the end is called at once, and after the answer never")
  func later() throws {
    let session = Session()
    let left = Log<String>()
    let ended = PendingAnswer<Int>(of: try Interception.request(in: session)) { _ in }
    ended.whenAbandoned { left.append("first") }
    ended.whenAbandoned { left.append("second") }
    ended.request?.cancel()
    #expect(left.values == ["second"])
    ended.whenAbandoned { left.append("third") }
    #expect(left.values == ["second", "third"])
    let request = try Interception.request(in: session)
    let given = PendingAnswer<Int>(of: request) { _ in }
    given(1)
    given.whenAbandoned { left.append("fourth") }
    request.cancel()
    given.whenAbandoned { left.append("fifth") }
    #expect(left.values == ["second", "third"])
  }

  @Test("Answers and ends from several threads: one of both happens")
  func race() async throws {
    let session = Session()
    for _ in 0..<500 {
      let request = try Interception.request(in: session)
      let happened = Log<String>()
      let answer = PendingAnswer<Int>(of: request) { _ in happened.append("answered") }
      DispatchQueue.concurrentPerform(iterations: 3) { thread in
        switch thread {
        case 0: answer(1)
        case 1: request.cancel()
        default: answer.whenAbandoned { happened.append("left") }
        }
      }
      let values = happened.values
      #expect(values.count <= 1, "\(values)")
      #expect(!answer.isOpen)
      #expect(request.fields.withLock { $0.pendingAnswers.isEmpty })
    }
  }
}
