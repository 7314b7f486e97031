import Foundation
import FoundationNetworking

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
  /// The outcome of a request with that final error and the status of its last response.
  ///
  /// An error status explains failures that came after it (validation, serialization of an error page), so it goes
  /// before them; it does not explain a cancel, a broken transfer or a full disk.
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
    case .sessionTaskFailed(let error): self = Self(transfer: error, hadResponse: status != nil)
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
    case .inputDataNilOrZeroLength, .stringSerializationFailed, .jsonSerializationFailed, .decodingFailed,
      .customSerializationFailed, .invalidEmptyResponse:
      self = .serializationFailed
    }
  }

  private static func isFileError(_ error: any Error) -> Bool {
    (error as? URLError)?.code.isFileError ?? (error as? CocoaError)?.isFileError ?? false
  }

  private init(transfer error: any Error, hadResponse: Bool) {
    switch (error as? URLError)?.code {
    case .timedOut: self = .timeout
    case .cancelled, .userCancelledAuthentication: self = .cancelled
    case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
      .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
      .clientCertificateRequired:
      self = .tlsError
    case .dataLengthExceedsMaximum, .httpTooManyRedirects, .appTransportSecurityRequiresSecureConnection:
      self = .limitExceeded
    case let code? where code.isFileError: self = .fileError
    case .requestBodyStreamExhausted: self = .creationFailed
    // With a response it was the upstream's redirect that led to such a URL.
    case .badURL, .unsupportedURL: self = hadResponse ? .transportError : .creationFailed
    default: self = .transportError
    }
  }
}

extension URLError.Code {
  fileprivate var isFileError: Bool {
    switch self {
    case .cannotCreateFile, .cannotOpenFile, .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile,
      .cannotMoveFile, .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile:
      true
    default: false
    }
  }
}
