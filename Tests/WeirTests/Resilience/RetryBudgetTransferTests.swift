import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

/// What a retry budget does to requests on the wire.
@Suite("Retry budgets on the wire", .slow, .timeLimit(.minutes(5)))
struct RetryBudgetTransferTests {
  private let busy = response("503 Busy", body: "busy")

  private static func configuration(_ budget: RetryBudget?) -> SessionConfiguration {
    var configuration = SessionConfiguration.default
    configuration.retryBudget = budget
    return configuration
  }

  /// So many retries and no more.
  private static func only(_ count: Double) -> RetryBudget {
    RetryBudget(ratio: 0, minimumPerSecond: 0, burst: count, window: 60)
  }

  private static let always = Retrier { $3(.retry) }

  @Test("An upstream that fails everything bears a share of its requests as retries, and each request is denied once")
  func aDeadUpstream() async throws {
    let server = try answering(busy)
    let recorder = RetryRecorder()
    let session = Session(
      configuration: Self.configuration(RetryBudget(ratio: 0.2, minimumPerSecond: 0, burst: 0, window: 60)),
      interceptor: Self.always, eventMonitors: [recorder])
    for _ in 0..<50 {
      let error = await session.request(server.url).validate().serializingData().response.error
      #expect(error?.responseCode == 503, "the error that was asked about")
    }
    #expect(server.allRequests.count == 60)
    #expect(recorder.denials.entries == Array(repeating: .budget, count: 50))
  }

  @Test("The defaults are on: twenty retries at once, and a fifth of the requests more")
  func theDefaults() async throws {
    let server = try answering(busy)
    let session = Session(interceptor: Self.always)
    let request = session.request(server.url).validate()
    #expect(await request.serializingData().response.error?.responseCode == 503)
    #expect(request.retryCount == 20)
  }

  @Test("No retrier is asked again about a request that was denied a retry, whatever fails of it")
  func deniedIsDenied() async throws {
    let server = try answering(okResponse("no number"))
    let asked = Journal<String>()
    let recorder = RetryRecorder()
    let session = Session(
      configuration: Self.configuration(Self.only(0)),
      interceptor: Retrier { _, _, error, completion in
        asked.append(error.asWeirError?.isResponseSerializationError == true ? "serializer" : "attempt")
        completion(.retry)
      }, eventMonitors: [recorder])
    let request = session.request(server.url)
    let answers = Journal<Bool>()
    for _ in 0..<3 {
      request.responseDecodable(of: Int.self) { answers.append($0.error?.isResponseSerializationError == true) }
    }
    await answers.wait { $0.count == 3 }
    #expect(answers.entries == [true, true, true])
    #expect(asked.entries == ["serializer"])
    #expect(recorder.denials.entries == [.budget])
  }

  @Test("A serializer's failure after a denied attempt is not put to retriers either")
  func deniedBeforeSerializers() async throws {
    let server = try answering(busy)
    let asked = Journal<Int>()
    let session = Session(
      configuration: Self.configuration(Self.only(0)),
      interceptor: Retrier {
        asked.append($0.retryCount)
        $3(.retry)
      })
    let value = await session.request(server.url).validate().serializingDecodable(Int.self).response
    #expect(value.error?.responseCode == 503)
    #expect(asked.entries == [0])
  }

  @Test("A request may have a budget of its own, or none; what it takes counts for others")
  func ofARequest() async throws {
    let server = try answering(busy)
    let session = Session(
      configuration: Self.configuration(Self.only(2)),
      interceptor: Retrier { $3($0.retryCount < 3 ? .retry : .doNotRetry) })
    let unlimited = session.request(server.url).retryBudget(nil).validate()
    #expect(await unlimited.serializingData().response.error?.responseCode == 503)
    #expect(unlimited.retryCount == 3)
    let common = session.request(server.url).validate()
    #expect(await common.serializingData().response.error?.responseCode == 503)
    #expect(common.retryCount == 0)
    let own = session.request(server.url).retryBudget(Self.only(4)).validate()
    #expect(await own.serializingData().response.error?.responseCode == 503)
    #expect(own.retryCount == 1)
  }

  @Test("A retry counts while it waits")
  func waiting() async throws {
    let server = try answering(busy)
    let recorder = RetryRecorder()
    let session = Session(
      configuration: Self.configuration(Self.only(1)), interceptor: Retrier { $3(.retryWithDelay(60)) },
      eventMonitors: [recorder])
    let waiting = session.request(server.url).validate()
    waiting.resume()
    await recorder.retries.wait { $0.count == 1 }
    #expect(await session.request(server.url).validate().serializingData().response.error?.responseCode == 503)
    #expect(recorder.denials.entries == [.budget])
    waiting.cancel()
    #expect(await waiting.serializingData().response.error?.isExplicitlyCancelledError == true)
  }

  @Test("What can't be retried anyway takes nothing of the budget")
  func reasonsBefore() async throws {
    let server = try answering(busy)
    let recorder = RetryRecorder()
    let session = Session(
      configuration: Self.configuration(Self.only(1)),
      interceptor: Retrier { $3($0.retryCount == 0 ? .retryWithDelay($0.method == .put ? 0 : 30) : .doNotRetry) },
      eventMonitors: [recorder])
    for _ in 0..<3 {
      _ = await session.request(server.url).validate().deadline(20).serializingData().response
    }
    _ = await session.request(server.url, method: .put).validate().serializingData().response
    #expect(recorder.retries.entries == ["0.0 backoff 503"])
    #expect(recorder.denials.entries == [.deadline, .deadline, .deadline, .policy])
  }

  @Test("Destinations don't touch each other; sessions that share them do")
  func destinations() async throws {
    let servers = try (0..<2).map { _ in try answering(busy) }
    let table = DestinationTable()
    let sessions = try (0..<2).map { _ in
      try Session.sharing(table, Self.configuration(Self.only(3)), interceptor: Self.always)
    }
    for (index, server) in servers.enumerated() {
      let first = sessions[index].request(server.url).validate()
      #expect(await first.serializingData().response.error?.responseCode == 503)
      #expect(first.retryCount == 3)
      let second = sessions[1 - index].request(server.url).validate()
      #expect(await second.serializingData().response.error?.responseCode == 503)
      #expect(second.retryCount == 0)
    }
  }

  // MARK: Events

  private final class Reports: InlineEventMonitor {
    let interests: EventInterests = .resilience
    let heard = Journal<(destination: Destination, available: Double, time: MonotonicTime)>()

    func session(_ session: Session, retryBudget destination: Destination, available: Double) {
      heard.append((destination, available, .now))
    }
  }

  @Test("What is left is told when a destination is first spoken to, and then once a second while requests go there")
  func reports() async throws {
    let server = try answering(busy)
    let reports = Reports()
    let table = DestinationTable()
    let budget = RetryBudget(ratio: 0, minimumPerSecond: 1, burst: 2, window: 3)
    let sessions = try (0..<2).map { _ in
      try Session.sharing(
        table, Self.configuration(budget), interceptor: Self.always, eventMonitors: [reports])
    }
    for session in sessions { _ = await session.request(server.url).validate().serializingData().response }
    let told = reports.heard.entries.count
    #expect(reports.heard.entries[0].available == 5)
    await reports.heard.wait { $0.count > told }
    #expect(reports.heard.entries[told].available == 0, "five were granted within the window")
    // It is not new any more, and they are over a window ago.
    await reports.heard.wait { $0.last?.available == 3 }
    let times = reports.heard.entries.map(\.time)
    for (time, next) in zip(times, times.dropFirst()) { #expect(next.seconds(since: time) > 0.5) }
    #expect(reports.heard.entries.allSatisfy { $0.destination.port == server.port })
  }

  @Test("A session that ends leaves the telling to others")
  func reportsAfterTheEnd() async throws {
    let server = try answering(busy)
    let table = DestinationTable()
    let first = Reports()
    let second = Reports()
    let sessions = try [first, second].map {
      try Session.sharing(table, Self.configuration(RetryBudget()), eventMonitors: [$0])
    }
    for session in sessions { _ = await session.request(server.url).serializingData().response }
    #expect(second.heard.entries.isEmpty)
    sessions[0].invalidateAndCancel()
    await sessions[0].loopTurn()
    _ = await sessions[1].request(server.url).serializingData().response
    await second.heard.wait { !$0.isEmpty }
  }

  @Test("Without a budget nothing is told")
  func noReports() async throws {
    let server = try answering(busy)
    let reports = Reports()
    let session = Session(configuration: Self.configuration(nil), interceptor: nil, eventMonitors: [reports])
    for _ in 0..<3 { _ = await session.request(server.url).serializingData().response }
    await session.loopTurn()
    #expect(reports.heard.entries.isEmpty)
  }
}
