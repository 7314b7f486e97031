import Testing
import Weir
import WeirMetrics
import WeirTestSupport

@testable import WeirExporter

/// Which requests count as failed by their destination: what the alerts page for.
@Suite(.timeLimit(.minutes(5))) struct RequestFaultTests {
  /// Once for a request, however many attempts of it were answered 503, and not if one of them was not.
  @Test(arguments: [(failures: 3, counted: 1), (2, 0), (0, 0)])
  func requestsAreCounted(failures: Int, counted: Int) async throws {
    let registry = Registry()
    let (busy, well) = (
      Script.Step.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), Script.Step.send(okResponse("x"))
    )
    let server = try ScriptedServer(
      Script(
        .head, failures > 0 ? busy : well, .head, failures > 1 ? busy : well, .head, failures > 2 ? busy : well))
    let session = Session(
      interceptor: RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0),
      eventMonitors: [try MetricsMonitor(registry: registry)])
    _ = await session.request(server.url).validate().serializingString().response
    try await eventually("it is counted") {
      let page = registry.text().split(separator: "\n")
      return page.contains { $0.hasPrefix("weir_requests_failed_total") && $0.hasSuffix(" \(counted)") }
        && page.contains { $0.hasPrefix("weir_requests_total") && $0.hasSuffix(" 1") }
    }
  }
}
