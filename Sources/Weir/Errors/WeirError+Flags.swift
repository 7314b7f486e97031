// One flag per case, for code that asks about one and would read worse as a pattern.
extension WeirError {
  public var isSessionDeinitializedError: Bool {
    if case .sessionDeinitialized = self { true } else { false }
  }

  public var isSessionInvalidatedError: Bool {
    if case .sessionInvalidated = self { true } else { false }
  }

  public var isExplicitlyCancelledError: Bool {
    if case .explicitlyCancelled = self { true } else { false }
  }

  public var isInvalidURLError: Bool {
    if case .invalidURL = self { true } else { false }
  }

  public var isParameterEncodingError: Bool {
    if case .parameterEncodingFailed = self { true } else { false }
  }

  public var isParameterEncoderError: Bool {
    if case .parameterEncoderFailed = self { true } else { false }
  }

  public var isMultipartEncodingError: Bool {
    if case .multipartEncodingFailed = self { true } else { false }
  }

  public var isRequestAdaptationError: Bool {
    if case .requestAdaptationFailed = self { true } else { false }
  }

  public var isRequestRejectedError: Bool {
    if case .requestRejected = self { true } else { false }
  }

  public var isResponseValidationError: Bool {
    if case .responseValidationFailed = self { true } else { false }
  }

  public var isResponseSerializationError: Bool {
    if case .responseSerializationFailed = self { true } else { false }
  }

  public var isServerTrustEvaluationError: Bool {
    if case .serverTrustEvaluationFailed = self { true } else { false }
  }

  public var isRequestRetryError: Bool {
    if case .requestRetryFailed = self { true } else { false }
  }

  public var isCreateUploadableError: Bool {
    if case .createUploadableFailed = self { true } else { false }
  }

  public var isCreateURLRequestError: Bool {
    if case .createURLRequestFailed = self { true } else { false }
  }

  public var isDownloadedFileMoveError: Bool {
    if case .downloadedFileMoveFailed = self { true } else { false }
  }

  public var isSessionTaskError: Bool {
    if case .sessionTaskFailed = self { true } else { false }
  }

  public var isURLRequestValidationError: Bool {
    if case .urlRequestValidationFailed = self { true } else { false }
  }
}
