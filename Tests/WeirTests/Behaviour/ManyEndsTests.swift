import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

/// Thousands of attempts that wait for one destination and end at once. They run on the session's own thread, whose
/// stack is what it is.
@Suite("Many ends at once", .slow, .timeLimit(.minutes(5)))
struct ManyEndsTests {
  private static let waiting = SessionConfiguration.limited { $0.maximumPendingRequestsPerHost = 50_000 }

  @Test("5,000 waiters each of which fails as soon as it has its slot")
  func waitersThatFail() async throws {
    let hole = try BlackHole()
    let table = DestinationTable()
    let elsewhere = Adapter { urlRequest, _, completion in
      var adapted = urlRequest
      if urlRequest.url?.path == "/waiting" { adapted.url = URL(string: "ftp://example.invalid/") }
      completion(.success(adapted))
    }
    let session = try Session.sharing(table, Self.waiting, interceptor: elsewhere)
    let first = session.request(hole.url)
    let held = first.serializingData()
    try await eventually("it is on the wire") { hole.connectionCount == 1 }
    let ends = Journal<URLError.Code?>()
    for _ in 0..<5000 {
      session.request(hole.url + "waiting").response { ends.append($0.error?.urlErrorCode) }
    }
    try await eventually("all wait") { try table.occupancy(of: hole) == [1, 0, 5000] }
    first.cancel()
    #expect(await held.response.error?.isExplicitlyCancelledError == true)
    await ends.wait { $0.count == 5000 }
    #expect(ends.entries.allSatisfy { $0 == .unsupportedURL })
    try await eventually("all slots are free") { try table.occupancy(of: hole) == [0, 0, 0] }
  }

  @Test("40,000 waiters that are cancelled")
  func cancelledWaiters() async throws {
    let count = ThisProcess.isSanitized ? 4000 : 40_000
    let hole = try BlackHole()
    let table = DestinationTable()
    let session = try Session.sharing(table, Self.waiting)
    let ends = Mutex((cancelled: 0, other: 0))
    let requests = (0..<count).map { _ in session.request(hole.url) }
    for request in requests {
      request.response { response in
        ends.withLock {
          if response.error?.isExplicitlyCancelledError == true { $0.cancelled += 1 } else { $0.other += 1 }
        }
      }
    }
    try await eventually("all wait") { try table.occupancy(of: hole) == [1, 0, count - 1] }
    for request in requests { request.cancel() }
    try await eventually("all have ended") { ends.withLock { $0.cancelled + $0.other == count } }
    #expect(ends.withLock { $0.cancelled } == count)
    try await eventually("all slots are free") { try table.occupancy(of: hole) == [0, 0, 0] }
  }

  @Test("The same by the session's end")
  func waitersOfASessionThatEnds() async throws {
    let hole = try BlackHole()
    let table = DestinationTable()
    let session = try Session.sharing(table, Self.waiting)
    let ends = Journal<Bool>()
    for _ in 0..<10_000 {
      session.request(hole.url).response { ends.append($0.error?.isSessionInvalidatedError == true) }
    }
    try await eventually("all wait") { try table.occupancy(of: hole) == [1, 0, 9999] }
    session.invalidateAndCancel()
    await ends.wait { $0.count == 10_000 }
    #expect(ends.entries.allSatisfy { $0 })
    try await eventually("all slots are free") { try table.occupancy(of: hole) == [0, 0, 0] }
  }

  /// Cancels each task in the middle of the step that makes it.
  private final class Canceller: InlineEventMonitor {
    func request(_ request: Request, didCreateTask task: TransferTask) { task.cancel() }
  }

  @Test("A task that is cancelled as it is made is never sent, and its end can be retried", arguments: [false, true])
  func cancelledAsItIsMade(retries: Bool) async throws {
    let server = try answering(okResponse("fine"))
    let canceller = Canceller()
    let interceptor = Retrier { request, _, _, completion in
      completion(retries && request.retryCount < 3 ? .retry : .doNotRetry)
    }
    let session = Session(interceptor: interceptor, eventMonitors: [canceller])
    let request = session.request(server.url)
    let response = await request.serializingString().response
    #expect(response.error?.urlErrorCode == .cancelled)
    #expect(request.tasks.count == (retries ? 4 : 1))
    #expect(request.tasks.allSatisfy { $0.state == .completed })
    #expect(server.received().isEmpty)
    await session.loopTurn()
  }
}
