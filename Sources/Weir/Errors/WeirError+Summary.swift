/// The label and the text of an error, and the error that caused it.
struct ErrorSummary {
  /// A word fit for a metric: from a closed list, without any text of the request or the network. Mostly the case's
  /// name in snake case, so that a series is found from the code.
  let label: String
  /// Called only where the text is shown, as an error of the caller may describe itself in it.
  let text: () -> String
  let underlying: (any Error)?
  /// The file at which the encoding of a multipart body failed.
  let url: URL?

  init(
    _ label: String, _ text: @escaping @autoclosure () -> String, underlying: (any Error)? = nil, url: URL? = nil
  ) {
    self.label = label
    self.text = text
    self.underlying = underlying
    self.url = url
  }

  fileprivate func behind(_ sentence: String) -> ErrorSummary {
    ErrorSummary(label, "\(sentence) \(text())", underlying: underlying, url: url)
  }
}

extension WeirError: LabelledError {
  /// A word for this error, fit for a metric: from a closed list, without any text of the request or the network.
  package var label: String { summary.label }

  var text: String { summary.text() }

  var summary: ErrorSummary {
    switch self {
    case .createUploadableFailed(let error):
      ErrorSummary("create_uploadable_failed", "The upload's body could not be made: \(error.text)", underlying: error)
    case .createURLRequestFailed(let error):
      ErrorSummary("create_url_request_failed", "The URL request could not be made: \(error.text)", underlying: error)
    case .downloadedFileMoveFailed(let error, let source, let destination):
      ErrorSummary(
        "downloaded_file_move_failed",
        "The download could not be moved from \(source.path) to \(destination.path): \(error.text)", underlying: error)
    case .explicitlyCancelled: ErrorSummary("explicitly_cancelled", "The request was cancelled.")
    case .invalidURL(let url): ErrorSummary("invalid_url", "Not a URL: \(Redaction.invalidURL(url.text))")
    case .multipartEncodingFailed(let reason): reason.summary.behind("The multipart body could not be encoded.")
    case .parameterEncodingFailed(let reason): reason.summary.behind("The parameters could not be encoded.")
    case .parameterEncoderFailed(let reason): reason.summary.behind("The parameters could not be encoded.")
    case .requestAdaptationFailed(let error):
      ErrorSummary("request_adaptation_failed", "The request could not be adapted: \(error.text)", underlying: error)
    case .requestRejected(let reason):
      ErrorSummary(reason.rejection.label, "The request was not admitted. \(reason.rejection.text)")
    case .requestRetryFailed(let retryError, let originalError):
      ErrorSummary(
        "request_retry_failed",
        "The retrier failed (\(retryError.text)) when it was asked about: \(originalError.text)",
        underlying: retryError)
    case .responseValidationFailed(let reason): reason.summary.behind("The response is not acceptable.")
    case .responseSerializationFailed(let reason): reason.summary.behind("The response could not be serialized.")
    case .serverTrustEvaluationFailed(let reason): reason.summary.behind("The server is not trusted.")
    case .sessionDeinitialized:
      ErrorSummary(
        "session_deinitialized",
        "The session was deallocated while the request was active; keep a reference to it.")
    case .sessionInvalidated(let error):
      ErrorSummary(
        "session_invalidated", "The session was invalidated\(error.map { ": \($0.text)" } ?? ".")", underlying: error)
    case .sessionTaskFailed(let error):
      ErrorSummary(
        (error as? URLError).map { $0.proxyLabel ?? $0.failureCode.label } ?? "session_task_failed",
        "The transfer failed: \(error.text)", underlying: error)
    case .urlRequestValidationFailed(let reason): reason.summary.behind("The URL request is not valid.")
    }
  }
}

extension WeirError: LocalizedError, CustomStringConvertible {
  /// Says what failed, and names the faulty value and the setting that decides, if there is one. An error of a transfer
  /// also names method, origin, attempt and time. User info and queries of URLs are left out.
  public var errorDescription: String? {
    let text = cause
    guard case .sessionTaskFailed(let error as URLError) = self, let context = error.context else { return text }
    return "\(text) (\(context))"
  }

  /// The same text without the facts that a log line states anyway: method, origin, attempt and time.
  package var cause: String { Redaction.errorText(text) }

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
  var summary: ErrorSummary {
    switch self {
    case .bodyPartURLInvalid(let url):
      ErrorSummary("body_part_url_invalid", "Not a file URL: \(url.absoluteString)", url: url)
    case .bodyPartFilenameInvalid(let url):
      ErrorSummary("body_part_filename_invalid", "The file has no name or no extension: \(url.path)", url: url)
    case .bodyPartFileNotReachable(let url):
      ErrorSummary("body_part_file_not_reachable", "The file is not reachable: \(url.path)", url: url)
    case .bodyPartFileNotReachableWithError(let url, let error):
      ErrorSummary(
        "body_part_file_not_reachable_with_error", "The file is not reachable: \(url.path): \(error.text)",
        underlying: error, url: url)
    case .bodyPartFileIsDirectory(let url):
      ErrorSummary("body_part_file_is_directory", "The path is a directory, not a file: \(url.path)", url: url)
    case .bodyPartFileSizeNotAvailable(let url):
      ErrorSummary("body_part_file_size_not_available", "The file's size is not available: \(url.path)", url: url)
    case .bodyPartFileSizeQueryFailedWithError(let url, let error):
      ErrorSummary(
        "body_part_file_size_query_failed_with_error", "The file's size is not available: \(url.path): \(error.text)",
        underlying: error, url: url)
    case .bodyPartInputStreamCreationFailed(let url):
      ErrorSummary("body_part_input_stream_creation_failed", "The file could not be opened: \(url.path)", url: url)
    case .outputStreamCreationFailed(let url):
      ErrorSummary("output_stream_creation_failed", "The target could not be opened: \(url.path)", url: url)
    case .outputStreamFileAlreadyExists(let url):
      ErrorSummary("output_stream_file_already_exists", "The target exists already: \(url.path)", url: url)
    case .outputStreamURLInvalid(let url):
      ErrorSummary("output_stream_url_invalid", "The target is not a file URL: \(url.absoluteString)", url: url)
    case .outputStreamWriteFailed(let error):
      ErrorSummary(
        "output_stream_write_failed", "The target could not be written: \(error.text)", underlying: error)
    case .inputStreamReadFailed(let error):
      ErrorSummary("input_stream_read_failed", "A part could not be read: \(error.text)", underlying: error)
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
  var summary: ErrorSummary {
    switch self {
    case .missingURL: ErrorSummary("missing_url", "The request has no URL.")
    case .jsonEncodingFailed(let error):
      ErrorSummary("json_encoding_failed", "JSON: \(error.text)", underlying: error)
    case .customEncodingFailed(let error): ErrorSummary("custom_encoding_failed", error.text, underlying: error)
    }
  }
}

extension WeirError.ParameterEncoderFailureReason {
  var summary: ErrorSummary {
    switch self {
    case .missingRequiredComponent(.url): ErrorSummary("missing_required_component", "The request has no URL.")
    case .missingRequiredComponent(.httpMethod(let method)):
      ErrorSummary("missing_required_component", "The request has no usable method: \(method)")
    case .encoderFailed(let error): ErrorSummary("encoder_failed", error.text, underlying: error)
    }
  }
}

extension WeirError.URLRequestValidationFailureReason {
  var summary: ErrorSummary {
    switch self {
    case .bodyDataInGETRequest(let body):
      ErrorSummary("body_data_in_get_request", "A GET must not have a body; this one has \(body.count) bytes.")
    case .invalidHeaderField(let name):
      ErrorSummary(
        "invalid_header_field",
        "A header name is not a token, or its value has a line break: \(name.debugDescription)")
    case .invalidMethod(let method):
      ErrorSummary("invalid_method", "The method is not a token: \(method.debugDescription)")
    }
  }
}

extension WeirError.ResponseValidationFailureReason {
  var summary: ErrorSummary {
    switch self {
    case .dataFileNil: ErrorSummary("data_file_nil", "There is no downloaded file.")
    case .dataFileReadFailed(let url):
      ErrorSummary("data_file_read_failed", "The downloaded file could not be read: \(url.path)")
    case .missingContentType(let types):
      ErrorSummary(
        "missing_content_type", "It has no content type; acceptable: \(types.joined(separator: ", "))")
    case .unacceptableContentType(let types, let type):
      ErrorSummary(
        "unacceptable_content_type", "Its content type is \(type); acceptable: \(types.joined(separator: ", "))")
    case .unacceptableStatusCode(let code):
      ErrorSummary("unacceptable_status_code", "Its status code is \(code).")
    case .customValidationFailed(let error): ErrorSummary("custom_validation_failed", error.text, underlying: error)
    }
  }
}

extension WeirError.ResponseSerializationFailureReason {
  var summary: ErrorSummary {
    switch self {
    case .inputDataNilOrZeroLength:
      ErrorSummary(
        "input_data_nil_or_zero_length",
        "The body is empty; emptyResponseCodes and emptyRequestMethods say when it may be.")
    case .inputFileNil: ErrorSummary("input_file_nil", "There is no downloaded file.")
    case .inputFileReadFailed(let url):
      ErrorSummary("input_file_read_failed", "The downloaded file could not be read: \(url.path)")
    case .stringSerializationFailed(let encoding):
      ErrorSummary(
        "string_serialization_failed",
        "The body is not text in \(Charset.name(of: encoding) ?? encoding.description).")
    case .unknownCharset(let name):
      ErrorSummary(
        "unknown_charset", "The charset \(name) of the response is not known; give the serializer an encoding.")
    case .jsonSerializationFailed(let error):
      ErrorSummary("json_serialization_failed", "The body is not JSON: \(error.text)", underlying: error)
    case .decodingFailed(let error):
      ErrorSummary("decoding_failed", "The body could not be decoded: \(error.text)", underlying: error)
    case .customSerializationFailed(let error):
      ErrorSummary("custom_serialization_failed", error.text, underlying: error)
    case .invalidEmptyResponse(let type):
      ErrorSummary("invalid_empty_response", "The body is empty and \(type) is not an EmptyResponse.")
    }
  }
}

extension WeirError.ServerTrustFailureReason {
  var summary: ErrorSummary {
    switch self {
    case .noRequiredEvaluator(let host):
      ErrorSummary(
        "no_required_evaluator",
        "There is no evaluator for \(host): add one to serverTrustManager, or set its allHostsMustBeEvaluated to false."
      )
    case .noCertificatesFound:
      ErrorSummary("no_certificates_found", "The evaluator has no certificates; they are expected in PEM.")
    case .noPublicKeysFound:
      ErrorSummary(
        "no_public_keys_found", "The evaluator has no public keys; give pins, or certificates or keys in PEM.")
    case .defaultEvaluationFailed(let output):
      ErrorSummary("default_evaluation_failed", "The certificate of \(output.text)")
    case .hostValidationFailed(let output):
      ErrorSummary("host_validation_failed", "The certificate is not for \(output.text)")
    case .publicKeyPinningFailed(let host, let keys):
      ErrorSummary("public_key_pinning_failed", "\(host) has none of the \(keys.count) pinned keys.")
    case .certificateAuthorityInvalid(let error):
      ErrorSummary(
        "certificate_authority_invalid", "The authority's certificates can't be read: \(error.text)", underlying: error)
    case .insecureEvaluatorNotAllowed(let host):
      ErrorSummary(
        "insecure_evaluator_not_allowed",
        "Trust evaluation is switched off for \(host), which needs tls.allowsInsecureServers = true.")
    case .customEvaluationFailed(let error): ErrorSummary("custom_evaluation_failed", error.text, underlying: error)
    }
  }
}

extension WeirError.ServerTrustFailureReason.Output {
  fileprivate var text: String { "\(host): \(message) (libcurl \(code))" }
}
