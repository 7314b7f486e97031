/// Everything that can go wrong with a request.
///
/// A case names the stage that failed, its reason says what was wrong, and the underlying error is the cause. The enum
/// may grow; switches over it need `@unknown default`. Its payloads are on the heap, so that an optional error takes
/// one word when it is nil. A failed TLS trust check is a ``serverTrustEvaluationFailed(reason:)`` if an evaluator is
/// responsible for the host, else a ``sessionTaskFailed(error:)``.
@nonexhaustive
public indirect enum WeirError: Error, Sendable {
  /// The body of an upload could not be made.
  case createUploadableFailed(error: any Error)
  /// `asURLRequest()` or a request modifier threw.
  case createURLRequestFailed(error: any Error)
  /// A download could not be moved from its temporary file to the place that the destination closure returned.
  case downloadedFileMoveFailed(error: any Error, source: URL, destination: URL)
  /// The request was cancelled by the caller.
  case explicitlyCancelled
  /// The convertible gives no URL.
  case invalidURL(url: any URLConvertible)
  /// A multipart body could not be encoded.
  case multipartEncodingFailed(reason: MultipartEncodingFailureReason)
  /// A `ParameterEncoding` failed.
  case parameterEncodingFailed(reason: ParameterEncodingFailureReason)
  /// A `ParameterEncoder` failed.
  case parameterEncoderFailed(reason: ParameterEncoderFailureReason)
  /// An adapter failed, or returned a request that is not valid.
  case requestAdaptationFailed(error: any Error)
  /// An attempt was not admitted, and nothing of it was sent. If it was a retry (`retryCount` is not 0), the attempts before
  /// it were.
  case requestRejected(reason: RequestRejectionReason)
  /// A retrier failed while it decided about the original error.
  case requestRetryFailed(retryError: any Error, originalError: any Error)
  /// The response did not pass validation.
  case responseValidationFailed(reason: ResponseValidationFailureReason)
  /// The response could not be turned into the value asked for.
  case responseSerializationFailed(reason: ResponseSerializationFailureReason)
  /// The server is not trusted.
  case serverTrustEvaluationFailed(reason: ServerTrustFailureReason)
  /// The session was deallocated while the request was active.
  case sessionDeinitialized
  /// The session was invalidated.
  case sessionInvalidated(error: (any Error)?)
  /// The transfer failed; the error is a `URLError`.
  case sessionTaskFailed(error: any Error)
  /// The request must not go on the wire.
  case urlRequestValidationFailed(reason: URLRequestValidationFailureReason)
}

extension Error {
  /// This error as a ``WeirError``, or nil if it is not one.
  public var asWeirError: WeirError? { self as? WeirError }

  /// This error as a ``WeirError``; traps with the message if it is not one.
  public func asWeirError(
    orFailWith message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
  ) -> WeirError {
    guard let error = asWeirError else { preconditionFailure(message(), file: file, line: line) }
    return error
  }

  /// This error as a ``WeirError``, or the given one if it is not a `WeirError`.
  public func asWeirError(or other: @autoclosure () -> WeirError) -> WeirError {
    asWeirError ?? other()
  }
}

// One flag per case, for code that checks a single case, where a pattern would be harder to read.
extension WeirError {
  /// Whether this is ``sessionDeinitialized``.
  public var isSessionDeinitializedError: Bool { if case .sessionDeinitialized = self { true } else { false } }

  /// Whether this is ``sessionInvalidated(error:)``.
  public var isSessionInvalidatedError: Bool { if case .sessionInvalidated = self { true } else { false } }

  /// Whether this is ``explicitlyCancelled``.
  public var isExplicitlyCancelledError: Bool { if case .explicitlyCancelled = self { true } else { false } }

  /// Whether this is ``invalidURL(url:)``.
  public var isInvalidURLError: Bool { if case .invalidURL = self { true } else { false } }

  /// Whether this is ``parameterEncodingFailed(reason:)``.
  public var isParameterEncodingError: Bool { if case .parameterEncodingFailed = self { true } else { false } }

  /// Whether this is ``parameterEncoderFailed(reason:)``.
  public var isParameterEncoderError: Bool { if case .parameterEncoderFailed = self { true } else { false } }

  /// Whether this is ``multipartEncodingFailed(reason:)``.
  public var isMultipartEncodingError: Bool { if case .multipartEncodingFailed = self { true } else { false } }

  /// Whether this is ``requestAdaptationFailed(error:)``.
  public var isRequestAdaptationError: Bool { if case .requestAdaptationFailed = self { true } else { false } }

  /// Whether this is ``requestRejected(reason:)``.
  public var isRequestRejectedError: Bool { if case .requestRejected = self { true } else { false } }

  /// Whether this is ``responseValidationFailed(reason:)``.
  public var isResponseValidationError: Bool { if case .responseValidationFailed = self { true } else { false } }

  /// Whether this is ``responseSerializationFailed(reason:)``.
  public var isResponseSerializationError: Bool { if case .responseSerializationFailed = self { true } else { false } }

  /// Whether this is ``serverTrustEvaluationFailed(reason:)``.
  public var isServerTrustEvaluationError: Bool { if case .serverTrustEvaluationFailed = self { true } else { false } }

  /// Whether this is ``requestRetryFailed(retryError:originalError:)``.
  public var isRequestRetryError: Bool { if case .requestRetryFailed = self { true } else { false } }

  /// Whether this is ``createUploadableFailed(error:)``.
  public var isCreateUploadableError: Bool { if case .createUploadableFailed = self { true } else { false } }

  /// Whether this is ``createURLRequestFailed(error:)``.
  public var isCreateURLRequestError: Bool { if case .createURLRequestFailed = self { true } else { false } }

  /// Whether this is ``downloadedFileMoveFailed(error:source:destination:)``.
  public var isDownloadedFileMoveError: Bool { if case .downloadedFileMoveFailed = self { true } else { false } }

  /// Whether this is ``sessionTaskFailed(error:)``.
  public var isSessionTaskError: Bool { if case .sessionTaskFailed = self { true } else { false } }

  /// Whether this is ``urlRequestValidationFailed(reason:)``.
  public var isURLRequestValidationError: Bool { if case .urlRequestValidationFailed = self { true } else { false } }
}
