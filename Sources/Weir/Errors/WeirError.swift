/// Everything that can go wrong with a request.
///
/// A case says which stage failed, its reason what was wrong, the underlying error what caused it. The enum may grow;
/// switches over it need `@unknown default`. Its payloads are on the heap, so that "no error" costs one word wherever
/// there could be one. A server that is not trusted is a ``serverTrustEvaluationFailed(reason:)`` where an evaluator speaks
/// for its host, else a ``sessionTaskFailed(error:)``.
@nonexhaustive
public indirect enum WeirError: Error, Sendable {
  /// The body of an upload could not be made.
  case createUploadableFailed(error: any Error)
  /// `asURLRequest()` or a request modifier threw.
  case createURLRequestFailed(error: any Error)
  /// A download could not be moved from its temporary file to where the destination closure said.
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
  /// An adapter failed, or what it returned is no valid request.
  case requestAdaptationFailed(error: any Error)
  /// The request was not admitted; nothing was sent.
  case requestRejected(reason: RequestRejectionReason)
  /// A retrier failed while it decided about the original error.
  case requestRetryFailed(retryError: any Error, originalError: any Error)
  /// The response did not pass validation.
  case responseValidationFailed(reason: ResponseValidationFailureReason)
  /// The response could not be turned into the value asked for.
  case responseSerializationFailed(reason: ResponseSerializationFailureReason)
  /// The server is not trusted.
  case serverTrustEvaluationFailed(reason: ServerTrustFailureReason)
  /// The session went away while the request was active.
  case sessionDeinitialized
  /// The session was invalidated.
  case sessionInvalidated(error: (any Error)?)
  /// The transfer failed; the error is a `URLError`.
  case sessionTaskFailed(error: any Error)
  /// The request must not go on the wire.
  case urlRequestValidationFailed(reason: URLRequestValidationFailureReason)
}

extension Error {
  /// This error as a ``WeirError``, or nil when it is another one.
  public var asWeirError: WeirError? { self as? WeirError }

  /// This error as a ``WeirError``; traps with the message when it is another one.
  public func asWeirError(
    orFailWith message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
  ) -> WeirError {
    guard let error = asWeirError else { preconditionFailure(message(), file: file, line: line) }
    return error
  }

  /// This error as a ``WeirError``, or the one given.
  public func asWeirError(or other: @autoclosure () -> WeirError) -> WeirError {
    asWeirError ?? other()
  }
}
