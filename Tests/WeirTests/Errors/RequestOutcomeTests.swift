import Testing
import Weir

@Suite struct RequestOutcomeTests {
  @Test(arguments: ErrorSample.all)
  func everyError(sample: ErrorSample) {
    #expect(RequestOutcome(error: sample.error, status: nil) == sample.outcome)
    #expect(RequestOutcome(error: sample.error, status: 500) == sample.outcomeOfErrorStatus)
  }

  @Test(
    arguments: [
      (nil, .success), (100, .success), (200, .success), (304, .success), (399, .success), (400, .httpError),
      (503, .httpError), (999, .httpError),
    ] as [(Int?, RequestOutcome)])
  func withoutError(status: Int?, outcome: RequestOutcome) {
    #expect(RequestOutcome(error: nil, status: status) == outcome)
  }

  @Test func samplesCoverEveryOutcomeThatAnErrorCanHave() {
    let covered = Set(ErrorSample.all.map(\.outcome))
    #expect(covered == Set(RequestOutcome.allCases).subtracting([.success]))
  }

  @Test func valuesAreThoseOfTheMetric() {
    #expect(
      RequestOutcome.allCases.map(\.rawValue) == [
        "success", "http_error", "validation_failed", "creation_failed", "adaptation_failed", "transport_error",
        "timeout", "tls_error", "cancelled", "rejected", "retry_failed", "serialization_failed", "limit_exceeded",
        "file_error", "session_ended",
      ])
  }
}
