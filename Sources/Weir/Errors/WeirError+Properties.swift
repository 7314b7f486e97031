extension WeirError {
  /// The value that gave no URL (``invalidURL(url:)``).
  public var urlConvertible: (any URLConvertible)? {
    guard case .invalidURL(let url) = self else { return nil }
    return url
  }

  /// The file at which the encoding of a multipart body failed.
  public var url: URL? {
    guard case .multipartEncodingFailed(let reason) = self else { return nil }
    return reason.url
  }

  /// The error that caused this one; for ``requestRetryFailed(retryError:originalError:)`` the retrier's.
  public var underlyingError: (any Error)? {
    switch self {
    case .createUploadableFailed(let error), .createURLRequestFailed(let error), .requestAdaptationFailed(let error),
      .requestRetryFailed(let error, _), .sessionTaskFailed(let error), .downloadedFileMoveFailed(let error, _, _):
      error
    case .sessionInvalidated(let error): error
    case .multipartEncodingFailed(let reason): reason.underlyingError
    case .parameterEncodingFailed(let reason): reason.underlyingError
    case .parameterEncoderFailed(let reason): reason.underlyingError
    case .responseValidationFailed(let reason): reason.underlyingError
    case .responseSerializationFailed(let reason): reason.underlyingError
    case .serverTrustEvaluationFailed(let reason): reason.underlyingError
    case .explicitlyCancelled, .invalidURL, .requestRejected, .sessionDeinitialized, .urlRequestValidationFailed: nil
    }
  }

  /// The content types that would have passed.
  public var acceptableContentTypes: [String]? {
    guard case .responseValidationFailed(let reason) = self else { return nil }
    return reason.acceptableContentTypes
  }

  /// The content type that did not pass.
  public var responseContentType: String? {
    guard case .responseValidationFailed(.unacceptableContentType(_, let type)) = self else { return nil }
    return type
  }

  /// The status code that did not pass.
  public var responseCode: Int? {
    guard case .responseValidationFailed(.unacceptableStatusCode(let code)) = self else { return nil }
    return code
  }

  /// The encoding in which the body is not valid text.
  public var failedStringEncoding: String.Encoding? {
    guard case .responseSerializationFailed(.stringSerializationFailed(let encoding)) = self else { return nil }
    return encoding
  }

  /// The temporary file of a download that could not be moved.
  public var sourceURL: URL? {
    guard case .downloadedFileMoveFailed(_, let source, _) = self else { return nil }
    return source
  }

  /// The place that a download could not be moved to.
  public var destinationURL: URL? {
    guard case .downloadedFileMoveFailed(_, _, let destination) = self else { return nil }
    return destination
  }

  /// The key of resume data in the `userInfo` of a download's `URLError`; it has the text of Apple's key.
  package static let resumeDataKey = "NSURLSessionDownloadTaskResumeData"

  /// The data with which a failed download can be resumed.
  public var downloadResumeData: Data? {
    if case .requestRetryFailed(_, let original) = self { return original.asWeirError?.downloadResumeData }
    let error = underlyingError as? URLError
    return error?.userInfo[Self.resumeDataKey] as? Data
  }
}

extension WeirError.MultipartEncodingFailureReason {
  var url: URL? {
    switch self {
    case .bodyPartURLInvalid(let url), .bodyPartFilenameInvalid(let url), .bodyPartFileNotReachable(let url),
      .bodyPartFileNotReachableWithError(let url, _), .bodyPartFileIsDirectory(let url),
      .bodyPartFileSizeNotAvailable(let url), .bodyPartFileSizeQueryFailedWithError(let url, _),
      .bodyPartInputStreamCreationFailed(let url), .outputStreamCreationFailed(let url),
      .outputStreamFileAlreadyExists(let url), .outputStreamURLInvalid(let url):
      url
    case .outputStreamWriteFailed, .inputStreamReadFailed: nil
    }
  }

  var underlyingError: (any Error)? {
    switch self {
    case .bodyPartFileNotReachableWithError(_, let error), .bodyPartFileSizeQueryFailedWithError(_, let error),
      .outputStreamWriteFailed(let error), .inputStreamReadFailed(let error):
      error
    case .bodyPartURLInvalid, .bodyPartFilenameInvalid, .bodyPartFileNotReachable, .bodyPartFileIsDirectory,
      .bodyPartFileSizeNotAvailable, .bodyPartInputStreamCreationFailed, .outputStreamCreationFailed,
      .outputStreamFileAlreadyExists, .outputStreamURLInvalid:
      nil
    }
  }
}

extension WeirError.ParameterEncodingFailureReason {
  var underlyingError: (any Error)? {
    switch self {
    case .jsonEncodingFailed(let error), .customEncodingFailed(let error): error
    case .missingURL: nil
    }
  }
}

extension WeirError.ParameterEncoderFailureReason {
  var underlyingError: (any Error)? {
    switch self {
    case .encoderFailed(let error): error
    case .missingRequiredComponent: nil
    }
  }
}

extension WeirError.ResponseValidationFailureReason {
  var underlyingError: (any Error)? {
    switch self {
    case .customValidationFailed(let error): error
    case .dataFileNil, .dataFileReadFailed, .missingContentType, .unacceptableContentType, .unacceptableStatusCode: nil
    }
  }

  var acceptableContentTypes: [String]? {
    switch self {
    case .missingContentType(let types), .unacceptableContentType(let types, _): types
    case .dataFileNil, .dataFileReadFailed, .unacceptableStatusCode, .customValidationFailed: nil
    }
  }
}

extension WeirError.ResponseSerializationFailureReason {
  var underlyingError: (any Error)? {
    switch self {
    case .jsonSerializationFailed(let error), .decodingFailed(let error), .customSerializationFailed(let error): error
    case .inputDataNilOrZeroLength, .inputFileNil, .inputFileReadFailed, .stringSerializationFailed, .unknownCharset,
      .invalidEmptyResponse:
      nil
    }
  }
}

extension WeirError.ServerTrustFailureReason {
  var underlyingError: (any Error)? {
    switch self {
    case .certificateAuthorityInvalid(let error), .customEvaluationFailed(let error): error
    case .noRequiredEvaluator, .noCertificatesFound, .noPublicKeysFound, .defaultEvaluationFailed,
      .hostValidationFailed, .publicKeyPinningFailed, .insecureEvaluatorNotAllowed:
      nil
    }
  }
}
