import Testing
import Weir

@testable import WeirGateway

@Suite struct GatewayOutcomeTests {
  @Test(
    arguments: [
      (.forwarded(.success), 200, "success", ""), (.forwarded(.httpError), 404, "http_error", ""),
      (.forwarded(.httpError), 503, "http_error", "503"), (.forwarded(.timeout), 504, "timeout", "timeout"),
      (.forwarded(.transportError), 200, "transport_error", "transport_error"),
      (.forwarded(.cancelled), 0, "cancelled", "cancelled"), (.unrouted, 404, "no_route", ""),
      (.refused, 400, "refused", ""), (.refused, 501, "refused", "501"), (.loop, 508, "loop", "508"),
      (.answered, 200, "answered", ""), (.bodyTimeout, 408, "body_timeout", ""),
      (.answered, 501, "answered", "501"), (.answeredByRoute, 503, "answered", ""),
      (.busy, 503, "busy", ""), (.rateLimited, 429, "rate_limited", ""), (.tooLarge, 413, "too_large", ""),
    ] as [(GatewayOutcome, Int, String, String)])
  func namesWhatHappened(outcome: GatewayOutcome, status: Int, label: String, errorType: String) {
    #expect(outcome.label == label)
    #expect(outcome.errorType(status: status) == errorType)
  }

  @Test func aLimitThatIsReachedIsNoFailure() {
    #expect(!GatewayOutcome.busy.isFailure(status: 503))
    #expect(GatewayOutcome.noEndpoint.isFailure(status: 503))
  }

  @Test func labelsDiffer() {
    let labels = (GatewayOutcome.ofRoutes + GatewayOutcome.ofRefusals + GatewayOutcome.ofNoRoute).map(\.label)
    #expect(Set(labels).count == labels.count)
  }
}
