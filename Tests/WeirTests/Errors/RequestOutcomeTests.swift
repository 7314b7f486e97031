import Foundation
import FoundationNetworking
import Testing

@testable import Weir

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
  func whetherTheDestinationOwesTheAnswer(error: WeirError?, status: Int?, isDestinations: Bool) {
    let outcome = RequestOutcome(error: error, status: status)
    #expect(outcome.isDestinationsFault(error, status: status) == isDestinations)
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
