import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirMetrics
import WeirTestSupport

@testable import WeirExporter

/// A counter that is born above zero is no increase to Prometheus: what can be known is there at zero before.
@Suite("First bursts", .timeLimit(.minutes(5)))
struct FirstBurstTests {
  private struct Failure: Error {}

  private static let refused = OAuth2Error(reason: .invalidClient, text: "It was refused.", retryAfter: nil)

  private func series(_ registry: Registry, _ prefix: String) -> [String] {
    registry.text().split(separator: "\n").map(String.init).filter { $0.hasPrefix(prefix) }
  }

  private func fresh() throws -> (Registry, MetricsMonitor, Destination) {
    let registry = Registry()
    return (registry, try MetricsMonitor(registry: registry), Destination(scheme: "http", host: "127.0.0.1", port: 1))
  }

  @Test("A prepared destination has every outcome, denial of its own and loss of callers at zero; no histogram yet")
  func destinations() throws {
    let (registry, monitor, destination) = try fresh()
    monitor.prepare(destination)
    monitor.prepare(method: .post, for: destination)
    monitor.prepare(method: HTTPMethod(rawValue: "BREW"), for: destination)
    for method in ["GET", "POST", "_OTHER"] {
      let labels = "{server_address=\"127.0.0.1\",server_port=\"1\",http_request_method=\"\(method)\""
      #expect(series(registry, "weir_requests_started_total\(labels)").map { $0.hasSuffix("} 0") } == [true])
      let outcomes = series(registry, "weir_requests_total\(labels)")
      #expect(outcomes.count == RequestOutcome.allCases.count)
      #expect(outcomes.allSatisfy { $0.hasSuffix("\"} 0") })
    }
    #expect(series(registry, "weir_requests_total").count == 3 * RequestOutcome.allCases.count)
    let lists = [
      ("weir_retries_denied_total", "reason", ["budget", "overload"]),
      ("weir_requests_shed_total", "reason", ["overload", "silent", "waited"]),
      ("weir_requests_abandoned_total", "phase", ["body", "queue", "upstream"]),
    ]
    for (name, label, values) in lists {
      let expected = values.map { "\(name){server_address=\"127.0.0.1\",server_port=\"1\",\(label)=\"\($0)\"} 0" }
      #expect(series(registry, name).map { String($0) }.sorted() == expected)
    }
    let limited = "weir_responses_limited_total{server_address=\"127.0.0.1\",server_port=\"1\"} 0"
    #expect(series(registry, "weir_responses_limited_total").map { String($0) } == [limited])
    #expect(!registry.text().contains("_bucket{server_address"))
  }

  @Test("A prepared adapter has every reason at zero, before its first call")
  func adapters() throws {
    let (registry, monitor, destination) = try fresh()
    monitor.prepare(adapter: "signer", for: destination)
    let reasons = series(registry, "weir_adaptation_failures_total")
    #expect(reasons.count == 5, "the words of a token service come with their first failure")
    #expect(reasons.allSatisfy { $0.contains("adapter=\"signer\"") && $0.hasSuffix("\"} 0") })
  }

  @Test("An adapter's first success brings its failures to zero, a method's first request its outcomes")
  func onFirstSight() async throws {
    let (registry, monitor, _) = try fresh()
    let server = try ScriptedServer(.answering(okResponse("x")))
    let session = Session(interceptor: Adapter({ $2(.success($0)) }, name: "signer"), eventMonitors: [monitor])
    _ = await session.request(server.url, method: .put).serializingString().response
    #expect(series(registry, "weir_adaptation_failures_total").count == AdaptationFailure.ofAnyAdapter.count)
    let outcomes = series(registry, "weir_requests_total").filter { $0.contains("method=\"PUT\"") }
    try await eventually("it is counted") {
      series(registry, "weir_requests_total").contains { $0.contains("method=\"PUT\"") && $0.hasSuffix(" 1") }
    }
    #expect(outcomes.count == RequestOutcome.allCases.count)
    #expect(series(registry, "weir_requests_total").count == 2 * RequestOutcome.allCases.count)
  }

  @Test(
    "Reasons are few, whatever an adapter throws",
    arguments: [
      (Failure() as any Error & Sendable, "error"), (URLError(.timedOut), "timeout"),
      (URLError(.cannotFindHost), "transport_error"), (URLError(.serverCertificateUntrusted), "transport_error"),
      (URLError(.cancelled), "cancelled"), (CancellationError(), "cancelled"),
      (WeirError.explicitlyCancelled, "cancelled"),
      (WeirError.responseValidationFailed(reason: .unacceptableStatusCode(code: 401)), "bad_response"),
      (WeirError.responseSerializationFailed(reason: .inputDataNilOrZeroLength), "bad_response"),
      (WeirError.sessionTaskFailed(error: URLError(.networkConnectionLost)), "transport_error"),
      (WeirError.requestRejected(reason: .queueFull), "transport_error"),
      (WeirError.invalidURL(url: ""), "error"), (CocoaError(.fileNoSuchFile), "error"),
      (FirstBurstTests.refused, "invalid_client"),
      (WeirError.requestAdaptationFailed(error: FirstBurstTests.refused), "invalid_client"),
      (
        WeirError.requestRetryFailed(
          retryError: WeirError.requestAdaptationFailed(error: FirstBurstTests.refused), originalError: Failure()),
        "invalid_client"
      ),
    ])
  func reasons(_ error: any Error & Sendable, _ reason: String) {
    #expect(AdaptationFailure(error).rawValue == reason)
  }

  @Test("A token service's word is counted, and has a series from then on")
  func tokenServiceWords() async throws {
    let (registry, monitor, _) = try fresh()
    let session = Session(
      interceptor: Adapter({ $2(.failure(Self.refused)) }, name: "tokens"), eventMonitors: [monitor])
    for _ in 0..<2 { _ = await session.request("http://127.0.0.1:1/").serializingString().response }
    let shown = series(registry, "weir_adaptation_failures_total")
    #expect(shown.count == 6)
    #expect(shown.count { $0.contains("reason=\"invalid_client\"") && $0.hasSuffix(" 2") } == 1)
  }

  @Test("A failing adapter is counted under its name, destination and reason")
  func counted() async throws {
    let (registry, monitor, destination) = try fresh()
    monitor.prepare(adapter: "signer", for: destination)
    let session = Session(interceptor: Adapter({ $2(.failure(Failure())) }, name: "signer"), eventMonitors: [monitor])
    for _ in 0..<3 { _ = await session.request("http://127.0.0.1:1/").serializingString().response }
    let labels = "server_address=\"127.0.0.1\",server_port=\"1\",adapter=\"signer\",reason=\"error\""
    #expect(series(registry, "weir_adaptation_failures_total{\(labels)}").map { $0.hasSuffix(" 3") } == [true])
    #expect(
      series(registry, "weir_adaptation_duration_seconds_count") == [
        "weir_adaptation_duration_seconds_count{adapter=\"signer\"} 3"
      ])
  }

  @Test("An adapter that makes up names is still counted")
  func manyNames() async throws {
    let (registry, monitor, _) = try fresh()
    let session = Session(eventMonitors: [monitor])
    for number in 0..<100 {
      let adapter = Adapter({ $2(.failure(Failure())) }, name: "adapter\(number)")
      _ = await session.request("http://127.0.0.1:1/", interceptor: adapter).serializingString().response
    }
    let failures = series(registry, "weir_adaptation_failures_total").filter { $0.hasSuffix(" 1") }
    #expect(failures.count == 100)
  }
}
