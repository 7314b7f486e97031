import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// Retries on the wire: what is sent again, when, how often, and what is told of it.
@Suite("Retries on the wire", .timeLimit(.minutes(5)))
struct RetryTransferTests {
  static func policy(
    limit: UInt = 3, scale: Double = 0.001, methods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
    respectsRetryAfter: Bool = true
  ) -> RetryPolicy {
    RetryPolicy(
      retryLimit: limit, exponentialBackoffScale: scale, retryableHTTPMethods: methods,
      respectsRetryAfter: respectsRetryAfter)
  }

  let busy = response("503 Busy", body: "busy")

  @Test("Three times 503, then 200: one answer, four attempts, an entry of everything for each")
  func threeTimesBusy() async throws {
    let server = try answeringInTurn(busy, busy, busy, okResponse("fine"))
    let recorder = RetryRecorder()
    let adapted = Journal<String?>()
    let session = Session(
      interceptor: Interceptor(
        adapters: [
          Adapter { request, _, completion in
            adapted.append(request.value(forHTTPHeaderField: "X-Attempt"))
            var request = request
            request.setValue("\(adapted.entries.count)", forHTTPHeaderField: "X-Attempt")
            completion(.success(request))
          }
        ], retriers: [Self.policy()]), eventMonitors: [recorder])
    var urlRequest = try URLRequest(url: server.url, method: .put)
    urlRequest.httpBody = Data("again and again".utf8)
    let calls = Journal<String>()
    let request = session.request(urlRequest).validate()
    request.responseString { calls.append($0.value ?? "-") }
    let response = await request.serializingString().response
    #expect(response.value == "fine")
    #expect(response.metrics?.statusCode == 200)
    await calls.wait { !$0.isEmpty }
    #expect(calls.entries == ["fine"])
    #expect(request.retryCount == 3)
    #expect(request.error == nil)
    #expect(request.outcome == .success)
    #expect(request.tasks.map(\.taskIdentifier) == [1, 2, 3, 4])
    #expect(request.allMetrics.map(\.statusCode) == [503, 503, 503, 200])
    #expect(request.requests.count == 8, "the initial and the adapted one of each attempt")
    #expect(recorder.retries.entries == ["0.001 backoff 503", "0.002 backoff 503", "0.004 backoff 503"])
    #expect(recorder.denials.entries == [])
    #expect(adapted.entries == [nil, nil, nil, nil], "each attempt starts from the initial request")
    let received = server.allRequests
    #expect(received.map(\.body) == Array(repeating: "again and again", count: 4))
    #expect(received.map { $0.value(of: "X-Attempt") } == ["1", "2", "3", "4"])
    #expect(server.connectionCount == 1)
    await session.loopTurn()
  }

  @Test("A retry starts from nothing: data, progress and error of the attempt before are gone")
  func startsFromNothing() async throws {
    let server = try answeringInTurn(response("503 Busy", body: "a long text of no use"), okResponse("ok"))
    let seen = Journal<String>()
    let monitor = Retrying { request in
      let data = (request as? DataRequest)?.data
      seen.append("\(data?.count ?? -1) \(request.downloadProgress.completedUnitCount) \(request.error == nil)")
    }
    let session = Session(interceptor: Self.policy(), eventMonitors: [monitor])
    let request = session.request(server.url).validate().downloadProgress { _ in }
    #expect(await request.serializingString().response.value == "ok")
    #expect(seen.entries == ["-1 0 true"])
    #expect(request.downloadProgress.completedUnitCount == 2)
  }

  // MARK: Retry-After

  struct Wish: Sendable, CustomTestStringConvertible {
    enum Field {
      case text(String)
      /// A date so many seconds from when it is asked for, which may be long after the tests were listed.
      case date(in: Double, zone: String = "GMT")
    }

    let field: Field
    let delay: ClosedRange<Double>
    let source: String

    var testDescription: String { "\(field)" }

    var value: String {
      switch field {
      case .text(let text): text
      case .date(let seconds, let zone): Self.date(in: seconds, zone)
      }
    }

    static let all: [Wish] = [
      Wish(field: .text("3"), delay: 3...3, source: "retry_after"),
      Wish(field: .text("60"), delay: 60...60, source: "retry_after"),
      Wish(field: .text("86400"), delay: 60...60, source: "retry_after"),
      Wish(field: .date(in: 40), delay: 20...40, source: "retry_after"),
      Wish(field: .date(in: 4_000), delay: 60...60, source: "retry_after"),
      Wish(field: .text("0"), delay: 2...2, source: "backoff"),
      Wish(field: .text("1"), delay: 2...2, source: "backoff"),
      Wish(field: .date(in: -100), delay: 2...2, source: "backoff"),
      Wish(field: .text("-5"), delay: 2...2, source: "backoff"),
      Wish(field: .text("soon"), delay: 2...2, source: "backoff"),
      Wish(field: .text("2.5"), delay: 2.5...2.5, source: "retry_after"),
      Wish(field: .text("1.5"), delay: 2...2, source: "backoff"),
      Wish(field: .date(in: 40, zone: "UTC"), delay: 20...40, source: "retry_after"),
      Wish(field: .date(in: 40, zone: "+0000"), delay: 20...40, source: "retry_after"),
    ]

    private static func date(in seconds: Double, _ zone: String) -> String {
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = TimeZone(secondsFromGMT: 0)
      formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss '\(zone)'"
      return formatter.string(from: Date(timeIntervalSinceNow: seconds))
    }
  }

  @Test("Retry-After raises the delay, in seconds or as a date, within bounds", arguments: Wish.all)
  func retryAfter(_ wish: Wish) async throws {
    let server = try answering(response("503 Busy", ["Retry-After: \(wish.value)"]))
    let recorder = RetryRecorder()
    let session = Session(interceptor: Self.policy(scale: 2), eventMonitors: [recorder])
    let request = session.request(server.url).validate()
    let task = request.serializingData()
    await recorder.retries.wait { !$0.isEmpty }
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    let words = try #require(recorder.retries.entries.first).split(separator: " ")
    #expect(wish.delay.contains(try #require(Double(words[0]))))
    #expect(words[1] == wish.source)
  }

  /// A wait of 60 s, which is what an hour comes down to, would end in time.
  @Test("A Retry-After beyond the deadline is the last word", arguments: ["3600", "101", "99999999999999999999999999"])
  func retryAfterBeyondTheDeadline(_ value: String) async throws {
    let server = try answering(response("503 Busy", ["Retry-After: \(value)"]))
    let recorder = RetryRecorder()
    let session = Session(interceptor: Self.policy(), eventMonitors: [recorder])
    let request = session.request(server.url).validate().deadline(100)
    #expect(await request.serializingData().response.error?.responseCode == 503)
    #expect(recorder.retries.entries == [])
    #expect(recorder.denials.entries == [.deadline])
  }

  @Test("A response that says so is final", arguments: ["X-No-Retry: yes", "x-envoy-ratelimited: true"])
  func finalResponse(_ field: String) async throws {
    let server = try answering(response("503 Busy", [field]))
    let recorder = RetryRecorder()
    let session = Session(interceptor: Self.policy(), eventMonitors: [recorder])
    #expect(await session.request(server.url).validate().serializingData().response.error?.responseCode == 503)
    #expect(recorder.denials.entries == [.policy])
    #expect(server.allRequests.count == 1)
  }

  @Test(
    "Retries say which they are, where the session has a field for that",
    arguments: [
      (nil, ["-", "-", "-"]), ("", ["-", "1", "2"]), ("2", ["2", "3", "4"]), ("0", ["0", "1", "2"]),
      ("-1", ["-1", "1", "2"]), ("x", ["x", "1", "2"]), ("998", ["998", "999", "999"]), ("1, 4", ["1, 4", "5", "6"]),
    ] as [(String?, [String])])
  func announcedAttempts(carried: String?, sent: [String]) async throws {
    let server = try answering(busy)
    var configuration = SessionConfiguration()
    if carried != nil { configuration.announcesAttempts = .standard }
    let session = Session(configuration: configuration, interceptor: Self.policy(limit: 2))
    var urlRequest = try URLRequest(url: server.url, method: .get)
    if let carried, !carried.isEmpty { urlRequest.setValue(carried, forHTTPHeaderField: "x-retry-attempt") }
    _ = await session.request(urlRequest).validate().serializingData().response
    #expect(server.allRequests.map { $0.value(of: "X-Retry-Attempt") ?? "-" } == sent)
    let counts = server.allRequests.map { $0.fields.count { $0.name.lowercased() == "x-retry-attempt" } }
    #expect(counts == sent.map { $0 == "-" ? 0 : 1 })
  }

  @Test func retryAfterCanBeIgnored() async throws {
    let server = try answering(response("503 Busy", ["Retry-After: 50"]))
    let recorder = RetryRecorder()
    let session = Session(interceptor: Self.policy(limit: 1, respectsRetryAfter: false), eventMonitors: [recorder])
    #expect(await session.request(server.url).validate().serializingData().response.error?.responseCode == 503)
    #expect(recorder.retries.entries == ["0.001 backoff 503"])
  }

  @Test("The delay is waited for")
  func waits() async throws {
    let server = try answeringInTurn(response("503 Busy", ["Retry-After: 1"]), okResponse("fine"))
    let session = Session(interceptor: Self.policy())
    let began = ContinuousClock.now
    #expect(await session.request(server.url).validate().serializingString().response.value == "fine")
    #expect(ContinuousClock.now - began >= .seconds(1))
    await session.loopTurn()
  }

  // MARK: What is not retried

  @Test("Methods that are not idempotent are not retried, unless the policy says so", arguments: ["POST", "PATCH"])
  func methods(_ name: String) async throws {
    let server = try answeringInTurn(busy, busy, okResponse("fine"))
    let recorder = RetryRecorder()
    let session = Session(interceptor: Self.policy(), eventMonitors: [recorder])
    let method = HTTPMethod(rawValue: name)
    #expect(await session.request(server.url, method: method).validate().plainResponse().error?.responseCode == 503)
    #expect(server.allRequests.count == 1)
    #expect(recorder.retries.entries == [])
    #expect(recorder.denials.entries == [.method])
    let willing = Session(interceptor: Self.policy(methods: [method]))
    let request = willing.request(server.url, method: method).validate()
    #expect(await request.serializingString().response.value == "fine")
    #expect(request.retryCount == 1)
  }

  @Test("After the last retry the last failure stands", arguments: [0, 1, 2] as [UInt])
  func limit(_ limit: UInt) async throws {
    let server = try answering(busy)
    let recorder = RetryRecorder()
    let session = Session(interceptor: Self.policy(limit: limit), eventMonitors: [recorder])
    let request = session.request(server.url).validate()
    let response = await request.plainResponse()
    #expect(response.error?.responseCode == 503)
    #expect(response.data == Data("busy".utf8))
    #expect(request.retryCount == Int(limit))
    #expect(request.allMetrics.count == Int(limit) + 1)
    #expect(server.allRequests.count == Int(limit) + 1)
    #expect(recorder.retries.entries.count == Int(limit))
    #expect(recorder.denials.entries == [.limit])
    #expect(request.outcome == .httpError)
  }

  @Test("A failure that no policy is about is denied by the policy; without retriers nobody denies anything")
  func denials() async throws {
    let server = try answering(response("404 Not Found"))
    let recorder = RetryRecorder()
    let session = Session(interceptor: Interceptor(interceptors: [Self.policy()]), eventMonitors: [recorder])
    #expect(await session.request(server.url).validate().serializingData().response.error?.responseCode == 404)
    #expect(recorder.denials.entries == [.policy])
    let plain = Session(eventMonitors: [recorder])
    #expect(await plain.request(server.url).validate().serializingData().response.error?.responseCode == 404)
    #expect(recorder.denials.entries == [.policy])
    #expect(server.allRequests.count == 2)
  }

  @Test("A failure whose method and whose number speak against it is denied once, also when serializers ask again")
  func deniedOnce() async throws {
    let server = try answering(busy)
    let recorder = RetryRecorder()
    let session = Session(interceptor: Self.policy(limit: 1), eventMonitors: [recorder])
    let request = session.request(server.url).validate()
    async let first = request.serializingDecodable(Int.self).response
    async let second = request.serializingString().response
    #expect(await first.error?.responseCode == 503)
    #expect(await second.error?.responseCode == 503)
    await request.settled()
    #expect(recorder.denials.entries == [.limit])
    #expect(server.allRequests.count == 2)
  }

  @Test("Without validation an error status is a success, and no retrier is asked")
  func withoutValidation() async throws {
    let server = try answering(busy)
    let recorder = RetryRecorder()
    let session = Session(interceptor: Self.policy(), eventMonitors: [recorder])
    #expect(await session.request(server.url).serializingString().response.value == "busy")
    #expect(recorder.retries.entries == [])
    #expect(recorder.denials.entries == [])
  }

  // MARK: Failures of the transport

  struct Breakage: Sendable, CustomTestStringConvertible {
    let steps: [Script.Step]
    let reason: String
    let testDescription: String

    static let all: [Breakage] = [
      Breakage(steps: [.head, .reset], reason: "network_connection_lost", testDescription: "reset"),
      Breakage(steps: [.head, .close], reason: "network_connection_lost", testDescription: "no answer"),
      Breakage(
        steps: [.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort")], reason: "network_connection_lost",
        testDescription: "short body"),
      Breakage(steps: [.head, .send("SSH-2.0-x\r\n\r\n")], reason: "bad_server_response", testDescription: "no HTTP"),
    ]
  }

  @Test("Broken transfers are retried on a new connection", arguments: Breakage.all)
  func broken(_ breakage: Breakage) async throws {
    let server = try ScriptedServer(Script(.steps(breakage.steps)), .answering(okResponse("fine")))
    let recorder = RetryRecorder()
    let session = Session(interceptor: Self.policy(), eventMonitors: [recorder])
    let request = session.request(server.url)
    #expect(await request.serializingString().response.value == "fine")
    #expect(request.retryCount == 1)
    #expect(recorder.retries.entries == ["0.001 backoff \(breakage.reason)"])
    #expect(server.connectionCount == 2)
    #expect(request.tasks.first?.error is URLError)
    #expect(request.tasks.last?.error == nil)
    #expect(request.data == Data("fine".utf8), "bytes of the first attempt are gone")
  }

  @Test("A refused connection is retried; each attempt has its metrics, none of a connection")
  func refused() async throws {
    let port = try closedPort()
    let recorder = RetryRecorder()
    let session = Session(interceptor: Self.policy(limit: 2), eventMonitors: [recorder])
    let request = session.request("http://127.0.0.1:\(port)/")
    #expect(await request.serializingString().response.error?.urlErrorCode == .cannotConnectToHost)
    #expect(request.allMetrics.count == 3)
    #expect(request.allMetrics.allSatisfy { $0.networkProtocolName == nil && $0.statusCode == nil })
    #expect(recorder.retries.entries.allSatisfy { $0.hasSuffix("backoff cannot_connect_to_host") })
    #expect(recorder.denials.entries == [.limit])
    #expect(request.outcome == .transportError)
  }

  @Test("The connection-lost policy retries nothing else")
  func connectionLost() async throws {
    let server = try ScriptedServer(
      Script(.head, .reset), Script(.head, .send(busy), .awaitClose), .answering(okResponse("never")))
    let session = Session(interceptor: ConnectionLostRetryPolicy(exponentialBackoffScale: 0))
    let request = session.request(server.url).validate()
    #expect(await request.serializingString().response.error?.responseCode == 503)
    #expect(request.retryCount == 1)
  }

  /// A port of 127.0.0.1 at which nobody listens.
  func closedPort() throws -> Int {
    let server = try BlackHole()
    server.stop()
    return server.port
  }
}

/// Notes retries and denials as they are told.
final class RetryRecorder: InlineEventMonitor {
  /// `delay source reason`.
  let retries = Journal<String>()
  let denials = Journal<RetryDenial.Reason>()

  func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {
    retries.append("\(delay) \(source.rawValue) \(reason.rawValue)")
  }

  func request(_ request: Request, didDenyRetry denial: RetryDenial) {
    denials.append(denial.reason)
  }
}

/// Looks at a request when it is about to be tried again.
private struct Retrying: InlineEventMonitor {
  let look: @Sendable (Request) -> Void

  func requestIsRetrying(_ request: Request) { look(request) }
}
