import FoundationNetworking
import Weir

/// Why an adapter failed: the values of `reason` in weir_adaptation_failures_total.
///
/// Few, so that each adapter has all of them at zero from the start; what it was exactly is for the log.
enum AdaptationFailure: String, CaseIterable, Sendable {
  /// The adapter's own error: no credential, no key, a refusal.
  case error
  /// What it needed could not be fetched.
  case transport = "transport_error"
  case timeout
  /// What it needed came back as an error status or as something that can't be read.
  case response = "bad_response"
  case cancelled

  init(_ error: any Error) {
    if error is CancellationError {
      self = .cancelled
      return
    }
    let known = error.asWeirError ?? (error as? URLError).map { .sessionTaskFailed(error: $0) }
    guard let known else {
      self = .error
      return
    }
    switch RequestOutcome(error: known, status: nil) {
    case .timeout: self = .timeout
    case .cancelled: self = .cancelled
    case .transportError, .tlsError, .rejected, .limitExceeded, .sessionEnded: self = .transport
    case .httpError, .validationFailed, .serializationFailed: self = .response
    default: self = .error
    }
  }
}
