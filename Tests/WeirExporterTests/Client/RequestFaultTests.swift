import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirMetrics
import WeirTestSupport

@testable import WeirExporter

/// Which requests count as failed by their destination: what the alerts page for.
@Suite(.timeLimit(.minutes(1))) struct RequestFaultTests {
  private static let refused = WeirError.sessionTaskFailed(error: URLError(.cannotConnectToHost))
  private static let undecodable = WeirError.responseSerializationFailed(reason: .inputDataNilOrZeroLength)

  @Test(
    arguments: [
      (nil, 200, false), (nil, 404, false), (nil, 500, true), (nil, 503, true), (refused, nil, true),
      (.sessionTaskFailed(error: URLError(.timedOut)), nil, true),
      (.sessionTaskFailed(error: URLError(.networkConnectionLost)), 503, true),
      (.sessionTaskFailed(error: URLError(.serverCertificateUntrusted)), nil, true),
      (.requestRejected(reason: .circuitOpen(retryAfter: nil)), nil, true),
      (undecodable, 200, false), (undecodable, 503, true), (.explicitlyCancelled, 503, false),
      (.invalidURL(url: ""), nil, false), (.requestAdaptationFailed(error: CancellationError()), nil, false),
      (.requestRetryFailed(retryError: CancellationError(), originalError: refused), nil, true),
      (.requestRetryFailed(retryError: CancellationError(), originalError: undecodable), 200, false),
      (.requestRetryFailed(retryError: CancellationError(), originalError: undecodable), 503, true),
    ] as [(WeirError?, Int?, Bool)])
  func table(error: WeirError?, status: Int?, isDestinations: Bool) {
    let outcome = RequestOutcome(error: error, status: status)
    #expect(RequestFault.isDestinations(outcome, error, status: status) == isDestinations)
  }

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
