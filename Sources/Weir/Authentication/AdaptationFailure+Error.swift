extension AdaptationFailure {
  /// The word for an adapter's error. The exact error belongs in the log.
  package init(_ error: any Error) {
    var cause = error
    while let inner = cause.asWeirError?.underlyingError { cause = inner }
    if let refused = cause as? OAuth2Error {
      self = refused.reason
      return
    }
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
