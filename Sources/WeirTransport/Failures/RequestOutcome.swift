/// The outcome of a request in a word: the `outcome` label of its metrics.
public enum RequestOutcome: String, CaseIterable, Sendable {
  /// A status below 400, and nothing failed.
  case success
  /// The final status is 400 or more, whether it was validated or not.
  case httpError = "http_error"
  /// The content type, a custom validation, or a status below 400 was not accepted.
  case validationFailed = "validation_failed"
  /// The URL, the parameters or the request were invalid, and nothing was sent; or the body could not be read to its
  /// end.
  case creationFailed = "creation_failed"
  /// An adapter failed or returned an invalid request, and nothing was sent.
  case adaptationFailed = "adaptation_failed"
  /// The transfer failed without a more specific outcome: no connection, a broken one, or a malformed reply.
  case transportError = "transport_error"
  /// A silence, a connection or the whole request exceeded its time limit.
  case timeout
  /// The TLS handshake, a certificate or a pin failed.
  case tlsError = "tls_error"
  /// The caller cancelled the request or its task.
  case cancelled
  /// The destination did not admit the request: its queue was full, its circuit open, the admission timeout passed,
  /// load control refused it, or there was no endpoint.
  case rejected
  /// A retrier failed with an error of its own.
  case retryFailed = "retry_failed"
  /// A status below 400 with a body that a serializer could not use.
  case serializationFailed = "serialization_failed"
  /// The response exceeded a size, ratio or redirect limit of the session.
  case limitExceeded = "limit_exceeded"
  /// A file could not be read, written or moved.
  case fileError = "file_error"
  /// The session was deallocated or invalidated before the request had ended.
  case sessionEnded = "session_ended"
}

extension RequestOutcome {
  /// The outcome of a transfer that failed with this code.
  package init(_ code: FailureCode, hadResponse: Bool) {
    switch code {
    case .timedOut: self = .timeout
    case .cancelled, .userCancelledAuthentication: self = .cancelled
    case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
      .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
      .clientCertificateRequired:
      self = .tlsError
    case .dataLengthExceedsMaximum, .httpTooManyRedirects, .appTransportSecurityRequiresSecureConnection:
      self = .limitExceeded
    case let code where code.isFileError: self = .fileError
    case .requestBodyStreamExhausted: self = .creationFailed
    // With a response, the upstream's redirect led to the bad URL.
    case .badURL, .unsupportedURL: self = hadResponse ? .transportError : .creationFailed
    default: self = .transportError
    }
  }

  /// The outcome of an exchange, from its failure, if there is one, and the status of its last response.
  package init(_ failure: ExchangeFailure?, status: Int?) {
    switch failure {
    case nil: self = (status ?? 0) >= 400 ? .httpError : .success
    case .transfer(let failure): self.init(failure.code, hadResponse: status != nil)
    case .rejected: self = .rejected
    case .unauthenticated: self = .adaptationFailed
    case .cancelled: self = .cancelled
    case .ended: self = .sessionEnded
    }
  }

  /// Whether the destination is to blame for the outcome: it did not answer, or with a status of 500 or more. A request
  /// that was cancelled, could not be built or signed, or got an answer that the caller can't use, is not the
  /// destination's failure.
  package func isDestinationsFault(status: Int?) -> Bool {
    switch self {
    case .success, .cancelled, .creationFailed, .adaptationFailed, .fileError, .sessionEnded: false
    case .transportError, .timeout, .tlsError, .rejected: true
    case .httpError, .validationFailed, .serializationFailed, .limitExceeded, .retryFailed: (status ?? 0) >= 500
    }
  }
}
