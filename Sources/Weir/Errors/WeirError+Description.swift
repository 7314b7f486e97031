public import Foundation

extension WeirError: LocalizedError {
  /// What failed, naming the value at fault; userinfo of URLs is left out.
  public var errorDescription: String? {
    Redaction.urls(in: text)
  }

  private var text: String {
    switch self {
    case .createUploadableFailed(let error):
      "The upload's body could not be made: \(error.text)"
    case .createURLRequestFailed(let error):
      "The URL request could not be made: \(error.text)"
    case .downloadedFileMoveFailed(let error, let source, let destination):
      "The download could not be moved from \(source.path) to \(destination.path): \(error.text)"
    case .explicitlyCancelled:
      "The request was cancelled."
    case .invalidURL(let url):
      "Not a URL: \(Redaction.invalidURL(url.text))"
    case .multipartEncodingFailed(let reason):
      "The multipart body could not be encoded. \(reason.text)"
    case .parameterEncodingFailed(let reason):
      "The parameters could not be encoded. \(reason.text)"
    case .parameterEncoderFailed(let reason):
      "The parameters could not be encoded. \(reason.text)"
    case .requestAdaptationFailed(let error):
      "The request could not be adapted: \(error.text)"
    case .requestRejected(let reason):
      "The request was not admitted. \(reason.text)"
    case .requestRetryFailed(let retryError, let originalError):
      "The retrier failed: \(retryError.text) It was asked about: \(originalError.text)"
    case .responseValidationFailed(let reason):
      "The response is not acceptable. \(reason.text)"
    case .responseSerializationFailed(let reason):
      "The response could not be serialized. \(reason.text)"
    case .serverTrustEvaluationFailed(let reason):
      "The server is not trusted. \(reason.text)"
    case .sessionDeinitialized:
      "The session was deallocated while the request was active; keep a reference to it."
    case .sessionInvalidated(let error):
      "The session was invalidated\(error.map { ": \($0.text)" } ?? ".")"
    case .sessionTaskFailed(let error):
      "The transfer failed: \(error.text)"
    case .urlRequestValidationFailed(let reason):
      "The URL request is not valid. \(reason.text)"
    }
  }
}

extension WeirError: CustomStringConvertible {
  /// The label and the text; what a log shows, so without secrets too.
  public var description: String {
    "\(label): \(Redaction.urls(in: text))"
  }
}

extension Error {
  /// The text of an inner error.
  var text: String { (self as? DecodingError)?.summary ?? localizedDescription }
}

extension URLConvertible {
  /// What the convertible looks like; components by their parts, as they have no URL.
  fileprivate var text: String {
    switch self {
    case let text as String: text.debugDescription
    case let url as URL: url.absoluteString
    case let components as URLComponents: components.string ?? "\(components)"
    default: "\(self)"
    }
  }
}
