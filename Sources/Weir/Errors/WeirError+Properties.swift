extension WeirError {
  /// The value that gave no URL (``invalidURL(url:)``).
  public var urlConvertible: (any URLConvertible)? {
    guard case .invalidURL(let url) = self else { return nil }
    return url
  }

  /// The file at which the encoding of a multipart body failed.
  public var url: URL? { summary.url }

  /// The error that caused this one; for ``requestRetryFailed(retryError:originalError:)`` the retrier's.
  public var underlyingError: (any Error)? { summary.underlying }

  /// The content types that would have passed.
  public var acceptableContentTypes: [String]? {
    switch self {
    case .responseValidationFailed(.missingContentType(let types)),
      .responseValidationFailed(.unacceptableContentType(let types, _)):
      types
    default: nil
    }
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
