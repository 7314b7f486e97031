import Testing
import Weir
import WeirMetrics
import WeirTestSupport
import WeirTransport

@testable import WeirExporter

/// What the page shows of load control, of callers that gave up and of answers with 429.
@Suite(.timeLimit(.minutes(5))) struct OverloadMetricsTests {
  private let registry = Registry()

  private func metrics() throws -> DestinationMetrics {
    let families = try ClientMetrics(registry, SeriesLimits(destinations: 3, operations: 20))
    return DestinationIndex(families, limit: 1).metrics(of: Destination(scheme: "http", host: "h", port: 80))
  }

  /// The samples of a family, with their labels except for the destination's.
  private func samples(_ name: String) -> [String] {
    let destination = "server_address=\"h\",server_port=\"80\""
    return registry.text().split(separator: "\n").filter { $0.hasPrefix(name + "{") }.map { line in
      String(line.dropFirst(name.count))
        .replacing("{\(destination)}", with: "").replacing("{\(destination),", with: "{")
    }
  }

  @Test func countersAreThereFromTheFirstRequestOn() throws {
    _ = try metrics()
    #expect(
      samples("weir_requests_shed_total") == [
        "{reason=\"overload\"} 0", "{reason=\"silent\"} 0", "{reason=\"waited\"} 0",
      ])
    #expect(
      samples("weir_requests_abandoned_total") == [
        "{phase=\"body\"} 0", "{phase=\"queue\"} 0", "{phase=\"upstream\"} 0",
      ])
    #expect(samples("weir_responses_limited_total") == [" 0"])
    for name in ["overload_state", "concurrency_limit", "concurrency_used", "baseline_seconds", "service_rate"] {
      #expect(samples("weir_\(name)").isEmpty, "load control is not on")
    }
    #expect(samples("weir_limit_probes_total").isEmpty)
  }

  @Test func refusalsGiveUpsAndAnswersWith429() throws {
    let metrics = try metrics()
    for reason in [ShedReason.overload, .overload, .silent] { metrics.shed(reason) }
    for phase in [AbandonedPhase.upstream, .queue, .queue] { metrics.abandoned[phase]?.increment() }
    metrics.limited.increment()
    #expect(
      samples("weir_requests_shed_total") == [
        "{reason=\"overload\"} 2", "{reason=\"silent\"} 1", "{reason=\"waited\"} 0",
      ])
    #expect(
      samples("weir_requests_abandoned_total") == [
        "{phase=\"body\"} 0", "{phase=\"queue\"} 2", "{phase=\"upstream\"} 1",
      ])
    #expect(samples("weir_responses_limited_total") == [" 1"])
  }

  @Test func theValuesOfLoadControl() throws {
    let metrics = try metrics()
    metrics.overload(OverloadReport(state: .normal, limit: 64, used: 1))
    #expect(
      samples("weir_overload_state") == [
        "{state=\"normal\"} 1", "{state=\"overloaded\"} 0", "{state=\"silent\"} 0",
      ])
    #expect(samples("weir_concurrency_limit") == [" 64"])
    #expect(samples("weir_concurrency_used") == [" 1"])
    #expect(samples("weir_baseline_seconds").isEmpty && samples("weir_service_rate").isEmpty, "they are unknown")
    var report = OverloadReport(state: .overloaded, limit: 8, used: 9, baseline: 0.025, serviceRate: 40.5)
    report.probes.faster = 2
    report.probes.aborted = 1
    metrics.overload(report)
    metrics.overload(report)
    #expect(
      samples("weir_overload_state") == [
        "{state=\"normal\"} 0", "{state=\"overloaded\"} 1", "{state=\"silent\"} 0",
      ])
    #expect(samples("weir_concurrency_limit") == [" 8"])
    #expect(samples("weir_concurrency_used") == [" 9"])
    #expect(samples("weir_baseline_seconds") == [" 0.025"])
    #expect(samples("weir_service_rate") == [" 40.5"])
    #expect(samples("weir_limit_probes_total") == ["{result=\"aborted\"} 2", "{result=\"faster\"} 4"])
    metrics.overload(OverloadReport(state: .normal, limit: 64, used: 0, baseline: 0.025))
    #expect(samples("weir_service_rate").isEmpty, "it is unknown again")
    #expect(samples("weir_baseline_seconds") == [" 0.025"])
    metrics.overload(entered: .silent)
    #expect(
      samples("weir_overload_state") == [
        "{state=\"normal\"} 0", "{state=\"overloaded\"} 0", "{state=\"silent\"} 1",
      ])
    metrics.remove(.overload)
    #expect(samples("weir_overload_state").isEmpty && samples("weir_concurrency_limit").isEmpty)
  }

  @Test func aSessionIsCounted() async throws {
    let limited = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"
    let server = try ScriptedServer(Script(.request, .send(limited), .request, .awaitClose))
    var configuration = SessionConfiguration.default
    configuration.overload = .default
    let session = Session(configuration: configuration, eventMonitors: [try MetricsMonitor(registry: registry)])
    #expect(await session.request(server.url).serializingData().response.response?.statusCode == 429)
    let request = session.request(server.url + "second").resume()
    try await eventually("it is sent") { server.receivedText().contains("/second") }
    request.cancel()
    let destination = "{server_address=\"127.0.0.1\",server_port=\"\(server.port)\""
    for line in [
      "weir_responses_limited_total\(destination)} 1",
      "weir_requests_abandoned_total\(destination),phase=\"upstream\"} 1",
      "weir_requests_shed_total\(destination),reason=\"overload\"} 0",
      "weir_overload_state\(destination),state=\"normal\"} 1",
      "weir_concurrency_limit\(destination)} 64",
    ] {
      try await eventually(line) { registry.text().split(separator: "\n").contains(Substring(line)) }
    }
  }
}
