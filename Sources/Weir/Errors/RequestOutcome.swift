/// How a request ended, in a word: the `outcome` label of its metrics.
public enum RequestOutcome: String, CaseIterable, Sendable {
  case success
  /// The final status is 400 or more, whether it was validated or not.
  case httpError = "http_error"
  /// Content type, custom validation, or a status below 400 that was not accepted.
  case validationFailed = "validation_failed"
  /// URL, parameters or the request itself: nothing was sent.
  case creationFailed = "creation_failed"
  case adaptationFailed = "adaptation_failed"
  case transportError = "transport_error"
  case timeout
  /// Handshake, certificate or pin.
  case tlsError = "tls_error"
  case cancelled
  /// Not admitted: queue full or admission timeout.
  case rejected
  /// A retrier's own error.
  case retryFailed = "retry_failed"
  case serializationFailed = "serialization_failed"
  /// A size, ratio or redirect limit of the session.
  case limitExceeded = "limit_exceeded"
  case fileError = "file_error"
  case sessionEnded = "session_ended"
}
