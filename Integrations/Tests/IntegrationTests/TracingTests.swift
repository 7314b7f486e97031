import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Tracing
import Weir
import WeirTracing

/// Keeps spans, and writes their context into a field of its own.
final class KeptSpans: Tracer {
  /// The process has one instrument.
  static let shared: KeptSpans = {
    let spans = KeptSpans()
    InstrumentationSystem.bootstrap(spans)
    return spans
  }()

  private let kept = Mutex<[KeptSpan]>([])

  func spans(under parent: String) -> [KeptSpan] { kept.withLock { $0.filter { $0.parent == parent } } }

  func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> KeptSpan {
    kept.withLock { kept in
      let span = KeptSpan(operationName, number: kept.count, context(), kind)
      kept.append(span)
      return span
    }
  }

  func forceFlush() {}

  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {}

  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    if let name = context[SpanName.self] { injector.inject(name, forKey: "x-span", into: &carrier) }
  }
}

enum SpanName: ServiceContextKey { typealias Value = String }

final class KeptSpan: Tracing.Span {
  struct State: Sendable {
    var name: String
    var attributes: SpanAttributes = [:]
    var status: SpanStatus?
    var ends = 0
  }

  let context: ServiceContext
  let parent: String?
  let kind: SpanKind
  private let kept: Mutex<State>

  init(_ name: String, number: Int, _ context: ServiceContext, _ kind: SpanKind) {
    parent = context[SpanName.self]
    self.kind = kind
    kept = Mutex(State(name: name))
    var own = context
    own[SpanName.self] = "\(parent ?? "")/\(number)"
    self.context = own
  }

  var state: State { kept.withLock { $0 } }

  var operationName: String {
    get { state.name }
    set { kept.withLock { $0.name = newValue } }
  }

  var attributes: SpanAttributes {
    get { state.attributes }
    set { kept.withLock { $0.attributes = newValue } }
  }

  var isRecording: Bool { state.ends == 0 }
  func setStatus(_ status: SpanStatus) { kept.withLock { $0.status = status } }
  func addEvent(_ event: SpanEvent) {}
  func addLink(_ link: SpanLink) {}
  func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) { kept.withLock { $0.ends += 1 } }

  func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {}
}

@Suite("swift-distributed-tracing") struct TracingTests {
  private let tracer = KeptSpans.shared

  private func place(_ name: String) -> ServiceContext {
    var context = ServiceContext.topLevel
    context[SpanName.self] = name
    return context
  }

  @Test("Each attempt is a span under its task's, and carries its context")
  func attempts() async throws {
    let server = try AnsweringServer(answer("503 Service Unavailable"), answer("200 OK", "", "yes"))
    let session = Session(interceptor: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0))
    let text = try await ServiceContext.withValue(place("attempts")) {
      try await session.request("\(server.url)/users/7?token=secret").operation("GET /users/{id}").traced()
        .validate().serializingString().value
    }
    #expect(text == "yes")
    let spans = tracer.spans(under: "attempts")
    #expect(spans.count == 2)
    #expect(spans.allSatisfy { $0.kind == .client && $0.state.ends == 1 && $0.operationName == "GET /users/{id}" })
    for (span, request) in zip(spans, server.requests) {
      #expect(request.lowercased().contains("x-span: \(span.context[SpanName.self] ?? "none")\r\n"))
    }
    let (first, second) = (try #require(spans.first).state, try #require(spans.last).state)
    #expect(first.attributes.get("http.response.status_code") == .int64(503))
    #expect(first.attributes.get("error.type") == .string("503") && first.status?.code == .error)
    #expect(second.attributes.get("http.response.status_code") == .int64(200) && second.status == nil)
    #expect(second.attributes.get("http.request.resend_count") == .int64(1))
    #expect(second.attributes.get("url.full") == .string("\(server.url)/users/7"))
    #expect(second.attributes.get("server.address") == .string("127.0.0.1"))
  }

  @Test("An attempt that was never sent ends with its request")
  func unsent() async throws {
    let refused = Adapter { _, _ in throw CancellationError() }
    let session = Session()
    let request = session.request("http://127.0.0.1:9/").traced(in: place("unsent")).adapt(using: refused)
    _ = await request.serializingData().response
    let spans = tracer.spans(under: "unsent")
    #expect(spans.count == 1 && spans.allSatisfy { $0.state.ends == 1 && $0.state.status?.code == .error })
  }

  @Test("A response of the cache is no error, though no attempt was sent")
  func cached() async throws {
    let server = try AnsweringServer(answer("200 OK", "Cache-Control: max-age=600\r\n", "yes"))
    var configuration = SessionConfiguration()
    configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
    let session = Session(configuration: configuration)
    for _ in 0..<2 {
      let text = try await session.request(server.url).traced(in: place("cached")).serializingString().value
      #expect(text == "yes")
    }
    let states = tracer.spans(under: "cached").map(\.state)
    #expect(states.count == 2 && states.allSatisfy { $0.ends == 1 && $0.status == nil })
    #expect(states.last?.attributes.get("weir.outcome") == .string("not_sent"))
  }
}
