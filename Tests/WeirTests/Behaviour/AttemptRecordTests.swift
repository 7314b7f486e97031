import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCurl
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// The records of attempts, and the fields that the attempts carry.
@Suite("Records of attempts", .timeLimit(.minutes(5)))
struct AttemptRecordTests {
  /// Exports spans, as far as the session knows.
  private final class Recorder: InlineEventMonitor {
    let traceSampler: TraceSampler?
    let interests: EventInterests
    let records = Journal<AttemptRecord>()

    init(_ sampler: TraceSampler? = TraceSampler(), interests: EventInterests = .records) {
      (traceSampler, self.interests) = (sampler, interests)
    }

    func request(_ request: Request, didRecordAttempt record: AttemptRecord) { records.append(record) }

    var numbers: [Int] { records.entries.map(\.number) }
    var spans: [String?] { records.entries.map(\.spanID) }
    /// The values of `traceparent` that the spans would have.
    var traceparents: [String?] { records.entries.map { $0.traceContext?.traceparent } }
  }

  private static let caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
  private static let engines = [HTTP1EngineChoice.own, .libcurl]

  private static func session(
    _ monitors: [any EventMonitor], caller: String? = nil, retries: UInt = 0, adapters: [any RequestAdapter] = [],
    engine: HTTP1EngineChoice = .standard
  ) -> Session {
    var configuration = SessionConfiguration()
    configuration.http1Engine = engine
    if let caller { configuration.traceContext = { TraceContext(traceparent: caller, tracestate: "a=1") } }
    let retrier = RetryPolicy(retryLimit: retries, exponentialBackoffScale: 0.001)
    return Session(
      configuration: configuration, interceptor: Interceptor(adapters: adapters, retriers: [retrier]),
      eventMonitors: monitors)
  }

  private static func sent(_ server: ScriptedServer) -> [String?] {
    server.allRequests.map { $0.value(of: "traceparent") }
  }

  @Test("Each attempt carries the identifier of its own span, a child of the caller's", arguments: engines)
  func children(engine: HTTP1EngineChoice) async throws {
    let server = try answeringInTurn(response("503 Busy"), response("503 Busy"), okResponse("x"))
    let recorder = Recorder()
    let session = Self.session([recorder], caller: Self.caller, retries: 2, engine: engine)
    let request = session.request(server.url + "a/b?key=secret").validate()
    #expect(await request.serializingString().response.value == "x")
    let records = recorder.records.entries
    #expect(recorder.numbers == [1, 2, 3])
    #expect(Self.sent(server) == recorder.traceparents)
    #expect(server.allRequests.map { $0.value(of: "tracestate") } == ["a=1", "a=1", "a=1"])
    #expect(Set(recorder.spans).count == 3 && !recorder.spans.contains(nil))
    #expect(records.map(\.parentID) == Array(repeating: "00f067aa0ba902b7", count: 3))
    #expect(records.map { $0.previous?.parentID } == [nil] + recorder.spans.dropLast())
    #expect(records.map(\.retryReason?.rawValue) == [nil, "503", "503"])
    #expect(records.map(\.metrics.statusCode) == [503, 503, 200])
    #expect(records.map(\.errorLabel) == ["unacceptable_status_code", "unacceptable_status_code", nil])
    for record in records {
      #expect(record.method == .get && record.path == "/a/b" && record.url == server.url + "a/b")
      #expect(record.destination?.port == server.port && !record.isHedge && !record.isAbandoned)
    }
    #expect(records.map(\.metrics) == request.allMetrics)
    #expect(request.recordedTrace?.isRoot == false)
    #expect(request.recordedTrace?.parent.traceparent == Self.caller)
  }

  @Test("Without a caller's context a trace begins with the request", arguments: engines)
  func roots(engine: HTTP1EngineChoice) async throws {
    let server = try answeringInTurn(response("503 Busy"), okResponse("x"))
    let recorder = Recorder()
    let session = Self.session([recorder], retries: 1, engine: engine)
    let request = session.request(server.url).validate()
    _ = await request.serializingString().response
    let trace = try #require(request.recordedTrace)
    #expect(trace.isRoot && trace.parent.isSampled)
    #expect(Self.sent(server) == recorder.traceparents)
    #expect(recorder.records.entries.map(\.traceID) == [trace.parent.traceID, trace.parent.traceID])
    #expect(recorder.records.entries.map(\.parentID) == [trace.parent.parentID, trace.parent.parentID])
    #expect(Set(recorder.spans + [trace.parent.parentID]).count == 3)
    #expect(trace.start <= recorder.records.entries[0].metrics.taskInterval.start)
  }

  @Test("What is not sampled goes on unchanged, and begun traces say so")
  func unsampled() async throws {
    let server = try answering(response("503 Busy"))
    let unsampled = String(Self.caller.dropLast()) + "0"
    let continued = Recorder(), begun = Recorder(TraceSampler(share: 0))
    let session = Self.session([continued], caller: unsampled, retries: 1)
    let first = session.request(server.url).validate()
    _ = await first.serializingString().response
    #expect(Self.sent(server) == [unsampled, unsampled])
    #expect(continued.spans == [nil, nil] && first.recordedTrace == nil)

    let other = try answering(response("503 Busy"))
    let nextSession = Self.session([begun], retries: 1)
    let second = nextSession.request(other.url).validate()
    _ = await second.serializingString().response
    let sent = Self.sent(other)
    #expect(sent.count == 2 && Set(sent).count == 1 && sent[0]?.hasSuffix("-00") == true)
    #expect(begun.spans == [nil, nil] && begun.traceparents == sent && second.recordedTrace == nil)
  }

  @Test("A monitor that exports nothing gets records without spans, and changes no field")
  func withoutASampler() async throws {
    let server = try answering(okResponse("x"))
    let cases: [(Recorder, String?)] = [
      (Recorder(nil), Self.caller), (Recorder(nil), nil), (Recorder(interests: .attempts), nil),
    ]
    for (recorder, caller) in cases {
      let session = Self.session([recorder], caller: caller)
      let request = session.request(server.url)
      _ = await request.serializingString().response
      #expect(recorder.numbers == (recorder.interests == .records ? [1] : []))
      #expect(recorder.spans.allSatisfy { $0 == nil } && request.recordedTrace == nil)
      #expect(recorder.traceparents == (recorder.interests == .records ? [caller] : []))
    }
    #expect(Self.sent(server) == [Self.caller, nil, nil])
  }

  @Test("A request with a traceparent of its own is left alone")
  func ownField() async throws {
    let server = try answering(okResponse("x"))
    let recorder = Recorder()
    for caller in [Self.caller, nil] {
      let session = Self.session([recorder], caller: caller)
      let request = session.request(server.url, headers: ["Traceparent": "mine"])
      _ = await request.serializingString().response
      #expect(request.recordedTrace == nil)
    }
    #expect(Self.sent(server) == ["mine", "mine"])
    #expect(recorder.spans == [nil, nil] && recorder.traceparents == [nil, nil])
  }

  // MARK: Adapters

  /// Notes the states of adapters and the fields of URL requests.
  private struct Signer: RequestAdapter {
    let seen = Journal<String>()
    var change: @Sendable (inout URLRequest) -> Void = { _ in }

    func adapt(
      _ urlRequest: URLRequest, using state: RequestAdapterState,
      completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
      let field = urlRequest.value(forHTTPHeaderField: "traceparent")
      seen.append("\(state.attempt) \(field ?? "-") \(field == state.traceContext?.traceparent)")
      var urlRequest = urlRequest
      change(&urlRequest)
      completion(.success(urlRequest))
    }
  }

  @Test("Adapters have the attempt's number and the fields that are sent")
  func adapters() async throws {
    let server = try answering(response("503 Busy"))
    let (recorder, signer) = (Recorder(), Signer())
    let session = Self.session([recorder], caller: Self.caller, retries: 1, adapters: [signer])
    let request = session.request(server.url).validate()
    _ = await request.serializingString().response
    let sent = Self.sent(server).map { $0 ?? "" }
    #expect(sent.count == 2 && sent == recorder.traceparents)
    #expect(signer.seen.entries == ["1 \(sent[0]) true", "2 \(sent[1]) true"])
    #expect(request.firstRequest?.value(forHTTPHeaderField: "traceparent") == nil)

    let plain = Signer()
    let nextSession = Self.session([], adapters: [plain])
    _ = await nextSession.request(server.url).serializingString().response
    #expect(plain.seen.entries == ["1 - true"])
  }

  @Test("An adapter may replace the fields, or take them away", arguments: ["replaced", nil])
  func replacedFields(value: String?) async throws {
    let server = try answeringInTurn(response("302 Found", ["Location: /next"]), okResponse("x"))
    let recorder = Recorder()
    let signer = Signer { $0.setValue(value, forHTTPHeaderField: "traceparent") }
    let session = Self.session([recorder], caller: Self.caller, adapters: [signer])
    let request = session.request(server.url)
    _ = await request.serializingString().response
    #expect(Self.sent(server) == [value, value])
    #expect(recorder.records.entries.count == 1 && recorder.spans[0] != nil)
  }

  // MARK: Redirects, hedges, endings

  @Test("All hops of an attempt carry its span, and the record has the redirects", arguments: engines)
  func redirects(engine: HTTP1EngineChoice) async throws {
    let server = try answeringInTurn(
      response("302 Found", ["Location: /next"]), response("307 Moved", ["Location: /last"]), okResponse("x"))
    let recorder = Recorder()
    let session = Self.session([recorder], engine: engine)
    _ = await session.request(server.url).serializingString().response
    let record = try #require(recorder.records.entries.first)
    #expect(Self.sent(server) == Array(repeating: recorder.traceparents[0], count: 3))
    #expect(record.redirects.map(\.status) == [302, 307])
    let here = Destination(scheme: "http", host: "127.0.0.1", port: server.port)
    #expect(record.redirects.map(\.destination) == [here, here])
    let total = try #require(record.metrics.total)
    #expect(record.redirects.allSatisfy { (0...total).contains($0.elapsed) })
    #expect(record.path == "/" && record.metrics.statusCode == 200)
  }

  @Test("A hedge is a span of its own, after the one that it runs beside", arguments: [false, true])
  func hedges(isAdapted: Bool) async throws {
    let server = try ScriptedServer(Script(.request, .awaitClose), Script(.request, .send(okResponse("second"))))
    let (recorder, signer) = (Recorder(), Signer())
    let session = Self.session([recorder], caller: Self.caller, adapters: isAdapted ? [signer] : [])
    let request = session.request(server.url).hedge(after: .seconds(0.02))
    #expect(await request.serializingString().response.value == "second")
    let records = recorder.records.entries
    #expect(recorder.numbers == [1, 2])
    #expect(records.map(\.isAbandoned) == [true, false] && records.map(\.isHedge) == [false, true])
    #expect(records[1].previous?.parentID == records[0].spanID && records[0].previous == nil)
    #expect(Self.sent(server) == recorder.traceparents)
    if isAdapted { #expect(signer.seen.entries.map { $0.prefix(2) } == ["1 ", "2 "]) }
  }

  @Test("An attempt that did not go on the wire has no record, and the next one links to none")
  func unsentAttempts() async throws {
    let server = try answering(okResponse("x"))
    let recorder = Recorder()
    let count = Mutex(0)
    let adapter = Adapter { request, _, completion in
      let isFirst = count.withLock { count in
        count += 1
        return count == 1
      }
      completion(isFirst ? .failure(SampleError()) : .success(request))
    }
    let retrier = Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) }
    let session = Session(
      interceptor: Interceptor(adapters: [adapter], retriers: [retrier]), eventMonitors: [recorder])
    _ = await session.request(server.url).serializingString().response
    #expect(recorder.numbers == [2])
    #expect(recorder.records.entries[0].previous == nil)
    #expect(Self.sent(server) == recorder.traceparents)
  }

  @Test("A failure has its label, and no URL shows secrets")
  func failures() async throws {
    let hole = try BlackHole()
    hole.stop()
    let recorder = Recorder()
    let url = "http://me:hunter2@127.0.0.1:\(hole.port)/a?key=1#part"
    let session = Self.session([recorder])
    _ = await session.request(url).serializingString().response
    let record = try #require(recorder.records.entries.first)
    #expect(record.errorLabel == "cannot_connect_to_host" && record.metrics.statusCode == nil)
    #expect(record.url == "http://<redacted>@127.0.0.1:\(hole.port)/a" && record.path == "/a")
  }

  @Test("A request's own monitor may be the one that exports")
  func ownMonitor() async throws {
    let server = try answering(okResponse("x"))
    let recorder = Recorder()
    let session = Session()
    let request = session.request(server.url).eventMonitor(recorder)
    _ = await request.serializingString().response
    #expect(request.recordedTrace?.isRoot == true)
    #expect(Self.sent(server) == recorder.traceparents && recorder.spans.count == 1)
  }
}
