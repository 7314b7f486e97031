import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// What is the caller's may do anything when it is let go of or asked something: no lock is held then.
@Suite("Letting go", .timeLimit(.minutes(5)))
struct ReleaseTests {
  /// Looks at a request when it goes, which takes the request's lock.
  private final class Watchful: Error, Sendable {
    private let slot: RequestSlot
    private let gone: Journal<String>

    init(_ slot: RequestSlot, _ gone: Journal<String>) {
      self.slot = slot
      self.gone = gone
    }

    deinit {
      gone.append(slot.request.map { "\($0.state)" } ?? "-")
    }
  }

  enum End: CaseIterable {
    case retry, cancel, invalidation
  }

  @Test("Errors that something takes the place of", arguments: End.allCases)
  func errors(_ end: End) async throws {
    let server = try answering(okResponse("1"))
    let (slot, gone) = (RequestSlot(), Journal<String>())
    let asked = Latch()
    let adapter = Adapter { urlRequest, _, completion in
      if slot.request?.retryCount == 0 {
        completion(.failure(Watchful(slot, gone)))
      } else {
        completion(.success(urlRequest))
      }
    }
    let retrier = Retrier { request, _, _, completion in
      switch end {
      case .retry: completion(.retryWithDelay(0.05))
      case .cancel, .invalidation: completion(.retryWithDelay(600))
      }
      asked.open()
    }
    let session = Session(interceptor: Interceptor(adapters: [adapter], retriers: [retrier]))
    let request = session.request(server.url, shouldAutomaticallyResume: false)
    slot.request = request
    request.resume()
    await asked.wait()
    await session.loopTurn()
    if end == .cancel { request.cancel() }
    if end == .invalidation { session.invalidateAndCancel() }
    await request.settled()
    try await eventually("the error is gone") { !gone.entries.isEmpty }
    slot.request = nil
  }

  @Test("A monitor is asked what it wants without a lock, and two that are added at once are both heard")
  func monitors() async throws {
    let server = try answering(okResponse("1"))
    let slot = RequestSlot()
    let session = Session(startRequestsImmediately: false)
    for _ in 0..<50 {
      let request = session.request(server.url)
      slot.request = request
      let finished = Mutex(0)
      request.eventMonitor(Curious(slot))
      let count = 8
      // Set up, so that the pipeline has its own view of the monitors.
      let held = Held<Result<URLRequest, any Error>>()
      request.adapt(using: Adapter { _, _, completion in held.keep(completion) })
      request.resume()
      await held.wait()
      DispatchQueue.concurrentPerform(iterations: count) { _ in
        request.eventMonitor(Counting { finished.withLock { $0 += 1 } })
      }
      held.answer(.success(try URLRequest(url: server.url, method: .get)))
      await request.settled()
      #expect(finished.withLock { $0 } == count)
    }
    slot.request = nil
  }

  private final class Curious: InlineEventMonitor {
    private let slot: RequestSlot

    init(_ slot: RequestSlot) {
      self.slot = slot
    }

    var interests: EventInterests { slot.request?.isCancelled == true ? [] : .lifecycle }
  }

  private final class Counting: InlineEventMonitor {
    private let count: @Sendable () -> Void

    init(_ count: @escaping @Sendable () -> Void) {
      self.count = count
    }

    func requestDidFinish(_ request: Request) { count() }
  }

  @Test("Closures of a monitor")
  func closures() {
    let monitor = ClosureEventMonitor()
    let gone = Journal<String>()
    for _ in 0..<2 {
      let captured = OnEnd {
        monitor.requestDidResume = nil
        gone.append("gone")
      }
      monitor.requestDidFinish = { _ in withExtendedLifetime(captured) {} }
    }
    monitor.requestDidFinish = nil
    #expect(gone.entries == ["gone", "gone"])
  }

  private final class OnEnd: Sendable {
    private let action: @Sendable () -> Void

    init(_ action: @escaping @Sendable () -> Void) {
      self.action = action
    }

    deinit { action() }
  }
}
