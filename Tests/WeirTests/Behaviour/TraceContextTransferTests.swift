import Foundation
import Testing
import WeirTestSupport

@testable import Weir

/// The places of requests in a trace, as upstreams see them.
@Suite struct TraceContextTransferTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let traceparent = "00-\(trace)-00f067aa0ba902b7-01"

  @TaskLocal private static var context: TraceContext?

  private static func session(_ limit: UInt = 0) -> Session {
    var configuration = SessionConfiguration()
    configuration.traceContext = { context }
    return Session(
      configuration: configuration, interceptor: RetryPolicy(retryLimit: limit, exponentialBackoffScale: 0.001))
  }

  private static func within<Result>(
    _ traceparent: String, _ tracestate: String? = nil, _ body: () async throws -> Result
  ) async throws -> Result {
    let context = try #require(TraceContext(traceparent: traceparent, tracestate: tracestate))
    return try await $context.withValue(context) { try await body() }
  }

  @Test func withoutSpansEachAttemptCarriesTheContextAsItIs() async throws {
    let server = try answering(response("503 Busy", body: "busy"))
    let session = Self.session(2)
    try await Self.within(Self.traceparent, "a=1") {
      _ = await session.request(server.url).validate().serializingData().response
    }
    let sent = server.allRequests.map { $0.value(of: "traceparent") }
    #expect(sent == [Self.traceparent, Self.traceparent, Self.traceparent])
    #expect(server.allRequests.map { $0.value(of: "tracestate") } == ["a=1", "a=1", "a=1"])
  }

  @Test func withoutAContextNothingIsSent() async throws {
    let server = try answering(okResponse("fine"))
    for session in [Self.session(), Session()] {
      #expect(await session.request(server.url).serializingString().response.value == "fine")
    }
    #expect(server.allRequests.map { $0.value(of: "traceparent") } == [nil, nil])
  }

  @Test func aFieldOfTheRequestsOwnStays() async throws {
    let server = try answering(okResponse("fine"))
    let session = Self.session()
    try await Self.within(Self.traceparent, "a=1") {
      _ = await session.request(server.url, headers: ["Traceparent": "mine"]).serializingData().response
    }
    #expect(server.allRequests.map { $0.value(of: "traceparent") } == ["mine"])
    #expect(server.allRequests.map { $0.value(of: "tracestate") } == [nil])
  }
}
