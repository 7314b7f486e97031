extension RequestOutcome {
  /// The outcome of a request with that final error and the status of its last response.
  ///
  /// An error status explains failures that came after it (validation, serialization of an error page), so it takes
  /// precedence over them. It does not explain a cancel, a broken transfer or a full disk.
  public init(error: WeirError?, status: Int?) {
    let isErrorStatus = (status ?? 0) >= 400
    switch error {
    case nil: self = isErrorStatus ? .httpError : .success
    case .createUploadableFailed(let error) where Self.isFileError(error): self = .fileError
    case .createUploadableFailed, .createURLRequestFailed, .invalidURL, .multipartEncodingFailed,
      .parameterEncodingFailed, .parameterEncoderFailed, .urlRequestValidationFailed:
      self = .creationFailed
    case .requestAdaptationFailed: self = .adaptationFailed
    case .requestRejected: self = .rejected
    case .requestRetryFailed: self = .retryFailed
    case .responseValidationFailed(let reason): self = isErrorStatus ? .httpError : Self(reason)
    case .responseSerializationFailed(let reason): self = isErrorStatus ? .httpError : Self(reason)
    case .serverTrustEvaluationFailed: self = .tlsError
    case .downloadedFileMoveFailed: self = .fileError
    case .explicitlyCancelled: self = .cancelled
    case .sessionDeinitialized, .sessionInvalidated: self = .sessionEnded
    case .sessionTaskFailed(let error):
      self = Self((error as? URLError)?.failureCode ?? .unknown, hadResponse: status != nil)
    }
  }

  private init(_ reason: WeirError.ResponseValidationFailureReason) {
    switch reason {
    case .unacceptableStatusCode(let code): self = code >= 400 ? .httpError : .validationFailed
    case .missingContentType, .unacceptableContentType, .customValidationFailed: self = .validationFailed
    case .dataFileNil, .dataFileReadFailed: self = .fileError
    }
  }

  private init(_ reason: WeirError.ResponseSerializationFailureReason) {
    switch reason {
    case .inputFileNil, .inputFileReadFailed: self = .fileError
    case .inputDataNilOrZeroLength, .stringSerializationFailed, .unknownCharset, .jsonSerializationFailed,
      .decodingFailed, .customSerializationFailed, .invalidEmptyResponse:
      self = .serializationFailed
    }
  }

  private static func isFileError(_ error: any Error) -> Bool {
    (error as? URLError)?.failureCode.isFileError ?? (error as? CocoaError)?.isFileError ?? false
  }
}
