/// How a request ended, in a word: the `outcome` label of its metrics.
public enum RequestOutcome: String, CaseIterable, Sendable {
  /// A status below 400, and nothing failed.
  case success
  /// The final status is 400 or more, whether it was validated or not.
  case httpError = "http_error"
  /// Content type, custom validation, or a status below 400 that was not accepted.
  case validationFailed = "validation_failed"
  /// URL, parameters or the request itself: nothing was sent; or its body, which could not be had, or not to its end.
  case creationFailed = "creation_failed"
  /// An adapter failed, or what it returned is no valid request: nothing was sent.
  case adaptationFailed = "adaptation_failed"
  /// The transfer failed in a way that no other outcome names: no connection, a broken one, a malformed reply.
  case transportError = "transport_error"
  /// A silence, a connection or the whole request took longer than it may.
  case timeout
  /// Handshake, certificate or pin.
  case tlsError = "tls_error"
  /// The caller cancelled the request or its task.
  case cancelled
  /// Not admitted: queue full or admission timeout.
  case rejected
  /// A retrier's own error.
  case retryFailed = "retry_failed"
  /// A status below 400 with a body that a serializer could not use.
  case serializationFailed = "serialization_failed"
  /// A size, ratio or redirect limit of the session.
  case limitExceeded = "limit_exceeded"
  /// A file that was to be read, written or moved.
  case fileError = "file_error"
  /// The session was deallocated or invalidated first.
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
    // With a response it was the upstream's redirect that led to such a URL.
    case .badURL, .unsupportedURL: self = hadResponse ? .transportError : .creationFailed
    default: self = .transportError
    }
  }

  /// The outcome of an exchange with that failure, or without one, and the status of its last response.
  package init(_ failure: ExchangeFailure?, status: Int?) {
    switch failure {
    case nil: self = (status ?? 0) >= 400 ? .httpError : .success
    case .transfer(let failure): self.init(failure.code, hadResponse: status != nil)
    case .rejected: self = .rejected
    case .cancelled: self = .cancelled
    case .ended: self = .sessionEnded
    }
  }

  /// Whether the destination owes the answer of a request that ended so: there was none, or one of 500 or more. What was
  /// cancelled, could not be made or signed, or was answered in a way that the caller can't use, is not its failure.
  package func isDestinationsFault(status: Int?) -> Bool {
    switch self {
    case .success, .cancelled, .creationFailed, .adaptationFailed, .fileError, .sessionEnded: false
    case .transportError, .timeout, .tlsError, .rejected: true
    case .httpError, .validationFailed, .serializationFailed, .limitExceeded, .retryFailed: (status ?? 0) >= 500
    }
  }
}
