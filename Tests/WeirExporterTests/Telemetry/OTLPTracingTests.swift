import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirOTLP
import WeirTestSupport
import WeirTransport

@testable import WeirExporter

/// The spans of requests over sockets.
@Suite("Spans of requests", .timeLimit(.minutes(5))) struct OTLPTracingTests {
  private final class Sink: SpanSink {
    private let kept = Mutex<[Span]>([])

    func add(_ spans: [Span]) { kept.withLock { $0 += spans } }

    var spans: [Span] { kept.withLock { $0 } }

    /// The first so many, once they are there.
    func spans(_ count: Int) async throws -> [Span] {
      try await eventually("there are \(count) spans") { spans.count >= count ? spans : nil }
    }
  }

  private static let busy = Script.Step.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
  private static let caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  private static func session(
    _ sink: Sink, sampler: TraceSampler = TraceSampler(), retries: UInt = 1, budget: RetryBudget? = RetryBudget(),
    caller: String? = nil
  ) -> Session {
    var configuration = SessionConfiguration()
    configuration.retryBudget = budget
    if let caller { configuration.traceContext = { TraceContext(traceparent: caller) } }
    return Session(
      configuration: configuration, interceptor: RetryPolicy(retryLimit: retries, exponentialBackoffScale: 0),
      eventMonitors: [OTLPTracing(sink: sink, sampler: sampler)])
  }

  @Test("A request is a span, with its attempts below it and its retry as an event")
  func roots() async throws {
    let server = try ScriptedServer(Script(.request, Self.busy, .request, .send(okResponse("x"))))
    let sink = Sink()
    let session = Self.session(sink)
    let request = session.request(server.url + "a?key=1").validate()
    #expect(await request.serializingString().response.value == "x")
    let spans = try await sink.spans(3)
    #expect(spans.map(\.name) == ["GET", "GET", "GET"] && spans.map(\.kind) == [.client, .client, .internal])
    let root = spans[2]
    #expect(root.parent == 0 && !root.isError && root.value("weir.outcome") == .string("success"))
    #expect(root.events.map(\.name) == ["retry"])
    #expect(spans[0].parent == root.place.id && spans[1].parent == root.place.id)
    #expect(Set(spans.map(\.place.high)).count == 1 && Set(spans.map(\.place.id)).count == 3)
    #expect(spans[1].links == [spans[0].place] && spans[0].isError && !spans[1].isError)
    #expect(spans[1].value("weir.retry.reason") == .string("503"))
    for span in spans.dropLast() { #expect(root.start <= span.start && span.end <= root.end) }
  }

  @Test("Below the caller's span a denied retry is told by the last attempt")
  func childrenOfTheCaller() async throws {
    let server = try ScriptedServer(Script(.request, Self.busy))
    let sink = Sink()
    let none = RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 0)
    let session = Self.session(sink, budget: none, caller: Self.caller)
    let request = session.request(server.url).validate()
    _ = await request.serializingString().response
    let span = try #require(try await sink.spans(1).first)
    #expect(span.parent == 0x00f0_67aa_0ba9_02b7 && span.isError && span.value("error.type") == .string("503"))
    #expect(span.value("weir.retry.denied") == .string("budget"))
    #expect(span.events.map(\.name).last == "retry denied")
    #expect(sink.spans.count == 1)
  }

  @Test("A request that could not be made is a span without attempts")
  func unmade() async throws {
    let sink = Sink()
    let session = Self.session(sink, retries: 0)
    _ = await session.request("").serializingString().response
    let span = try #require(try await sink.spans(1).first)
    #expect(span.name == "HTTP" && span.isError && span.value("weir.outcome") == .string("creation_failed"))
  }

  @Test("What is not sampled becomes no span")
  func unsampled() async throws {
    let server = try ScriptedServer(.answering(okResponse("x")))
    let sink = Sink()
    let session = Self.session(sink, sampler: TraceSampler(share: 0))
    _ = await session.request(server.url).serializingString().response
    let unsampled = String(Self.caller.dropLast()) + "0"
    let nextSession = Self.session(sink, caller: unsampled)
    _ = await nextSession.request(server.url).serializingString().response
    let lastSession = Self.session(sink)
    _ = await lastSession.request(server.url).serializingString().response
    #expect(try await sink.spans(2).count == 2)
  }

  @Test("A cancelled request ends as one")
  func cancelled() async throws {
    let hole = try BlackHole()
    let sink = Sink()
    let session = Self.session(sink)
    let request = session.request(hole.url)
    let value = request.serializingString()
    try await eventually("it is sent") { hole.connectionCount == 1 }
    request.cancel()
    _ = await value.response
    let spans = try await sink.spans(2)
    #expect(spans.map { $0.value("error.type") } == [.string("explicitly_cancelled"), .string("explicitly_cancelled")])
    #expect(spans[1].value("weir.outcome") == .string("cancelled"))
  }
}
