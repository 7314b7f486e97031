extension WeirError: LocalizedError {
  /// Says what failed, and names the faulty value and the setting that decides, if there is one. An error of a transfer
  /// also names method, origin, attempt and time. User info and queries of URLs are left out.
  public var errorDescription: String? {
    let text = cause
    guard case .sessionTaskFailed(let error as URLError) = self, let context = error.context else { return text }
    return "\(text) (\(context))"
  }

  /// The same text without the facts that a log line states anyway: method, origin, attempt and time.
  package var cause: String { Redaction.errorText(text) }

  var text: String {
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
      "The request was not admitted. \(reason.rejection.text)"
    case .requestRetryFailed(let retryError, let originalError):
      "The retrier failed (\(retryError.text)) when it was asked about: \(originalError.text)"
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
  /// The label and the text. Logs show it, so it contains no secrets either.
  public var description: String {
    "\(label): \(errorDescription ?? "")"
  }
}

extension URLConvertible {
  /// The convertible as text. Components are shown by their parts if they have no URL.
  fileprivate var text: String {
    switch self {
    case let text as String: text.debugDescription
    case let url as URL: url.absoluteString
    case let components as URLComponents: components.string ?? "\(components)"
    default: "\(self)"
    }
  }
}

extension WeirError.MultipartEncodingFailureReason {
  var text: String {
    switch self {
    case .bodyPartURLInvalid(let url):
      "Not a file URL: \(url.absoluteString)"
    case .bodyPartFilenameInvalid(let url):
      "The file has no name or no extension: \(url.path)"
    case .bodyPartFileNotReachable(let url):
      "The file is not reachable: \(url.path)"
    case .bodyPartFileNotReachableWithError(let url, let error):
      "The file is not reachable: \(url.path): \(error.text)"
    case .bodyPartFileIsDirectory(let url):
      "The path is a directory, not a file: \(url.path)"
    case .bodyPartFileSizeNotAvailable(let url):
      "The file's size is not available: \(url.path)"
    case .bodyPartFileSizeQueryFailedWithError(let url, let error):
      "The file's size is not available: \(url.path): \(error.text)"
    case .bodyPartInputStreamCreationFailed(let url):
      "The file could not be opened: \(url.path)"
    case .outputStreamCreationFailed(let url):
      "The target could not be opened: \(url.path)"
    case .outputStreamFileAlreadyExists(let url):
      "The target exists already: \(url.path)"
    case .outputStreamURLInvalid(let url):
      "The target is not a file URL: \(url.absoluteString)"
    case .outputStreamWriteFailed(let error):
      "The target could not be written: \(error.text)"
    case .inputStreamReadFailed(let error):
      "A part could not be read: \(error.text)"
    }
  }
}

extension WeirError.UnexpectedInputStreamLength: LocalizedError {
  /// Both lengths, in bytes.
  public var errorDescription: String? {
    "The stream gave \(bytesRead) bytes; \(bytesExpected) were declared."
  }
}

extension WeirError.ParameterEncodingFailureReason {
  var text: String {
    switch self {
    case .missingURL: "The request has no URL."
    case .jsonEncodingFailed(let error): "JSON: \(error.text)"
    case .customEncodingFailed(let error): error.text
    }
  }
}

extension WeirError.ParameterEncoderFailureReason {
  var text: String {
    switch self {
    case .missingRequiredComponent(.url): "The request has no URL."
    case .missingRequiredComponent(.httpMethod(let method)): "The request has no usable method: \(method)"
    case .encoderFailed(let error): error.text
    }
  }
}

extension WeirError.URLRequestValidationFailureReason {
  var text: String {
    switch self {
    case .bodyDataInGETRequest(let body): "A GET must not have a body; this one has \(body.count) bytes."
    case .invalidHeaderField(let name):
      "A header name is not a token, or its value has a line break: \(name.debugDescription)"
    case .invalidMethod(let method): "The method is not a token: \(method.debugDescription)"
    }
  }
}

extension WeirError.ResponseValidationFailureReason {
  var text: String {
    switch self {
    case .dataFileNil:
      "There is no downloaded file."
    case .dataFileReadFailed(let url):
      "The downloaded file could not be read: \(url.path)"
    case .missingContentType(let types):
      "It has no content type; acceptable: \(types.joined(separator: ", "))"
    case .unacceptableContentType(let types, let type):
      "Its content type is \(type); acceptable: \(types.joined(separator: ", "))"
    case .unacceptableStatusCode(let code):
      "Its status code is \(code)."
    case .customValidationFailed(let error):
      error.text
    }
  }
}

extension WeirError.ResponseSerializationFailureReason {
  var text: String {
    switch self {
    case .inputDataNilOrZeroLength:
      "The body is empty; emptyResponseCodes and emptyRequestMethods say when it may be."
    case .inputFileNil: "There is no downloaded file."
    case .inputFileReadFailed(let url): "The downloaded file could not be read: \(url.path)"
    case .stringSerializationFailed(let encoding):
      "The body is not text in \(Charset.name(of: encoding) ?? encoding.description)."
    case .unknownCharset(let name):
      "The charset \(name) of the response is not known; give the serializer an encoding."
    case .jsonSerializationFailed(let error): "The body is not JSON: \(error.text)"
    case .decodingFailed(let error): "The body could not be decoded: \(error.text)"
    case .customSerializationFailed(let error): error.text
    case .invalidEmptyResponse(let type): "The body is empty and \(type) is not an EmptyResponse."
    }
  }
}

extension WeirError.ServerTrustFailureReason {
  var text: String {
    switch self {
    case .noRequiredEvaluator(let host):
      "There is no evaluator for \(host): add one to serverTrustManager, or set its allHostsMustBeEvaluated to false."
    case .noCertificatesFound: "The evaluator has no certificates; they are expected in PEM."
    case .noPublicKeysFound: "The evaluator has no public keys; give pins, or certificates or keys in PEM."
    case .defaultEvaluationFailed(let output): "The certificate of \(output.text)"
    case .hostValidationFailed(let output): "The certificate is not for \(output.text)"
    case .publicKeyPinningFailed(let host, let keys): "\(host) has none of the \(keys.count) pinned keys."
    case .certificateAuthorityInvalid(let error): "The authority's certificates can't be read: \(error.text)"
    case .insecureEvaluatorNotAllowed(let host):
      "Trust evaluation is switched off for \(host), which needs tls.allowsInsecureServers = true."
    case .customEvaluationFailed(let error): error.text
    }
  }
}

extension WeirError.ServerTrustFailureReason.Output {
  fileprivate var text: String { "\(host): \(message) (libcurl \(code))" }
}
