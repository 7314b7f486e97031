extension WeirError: LabelledError {
  /// A word for this error, fit for a metric: from a closed list, without any text of the request or the network.
  package var label: String {
    switch self {
    case .createUploadableFailed: "create_uploadable_failed"
    case .createURLRequestFailed: "create_url_request_failed"
    case .downloadedFileMoveFailed: "downloaded_file_move_failed"
    case .explicitlyCancelled: "explicitly_cancelled"
    case .invalidURL: "invalid_url"
    case .multipartEncodingFailed(let reason): reason.label
    case .parameterEncodingFailed(let reason): reason.label
    case .parameterEncoderFailed(let reason): reason.label
    case .requestAdaptationFailed: "request_adaptation_failed"
    case .requestRejected(let reason): reason.rejection.label
    case .requestRetryFailed: "request_retry_failed"
    case .responseValidationFailed(let reason): reason.label
    case .responseSerializationFailed(let reason): reason.label
    case .serverTrustEvaluationFailed(let reason): reason.label
    case .sessionDeinitialized: "session_deinitialized"
    case .sessionInvalidated: "session_invalidated"
    case .sessionTaskFailed(let error): (error as? URLError)?.failureCode.label ?? "session_task_failed"
    case .urlRequestValidationFailed(let reason): reason.label
    }
  }
}

// The labels of the reasons: each is its case's name in snake case, so that a series is found from the code.

extension WeirError.MultipartEncodingFailureReason {
  var label: String {
    switch self {
    case .bodyPartURLInvalid: "body_part_url_invalid"
    case .bodyPartFilenameInvalid: "body_part_filename_invalid"
    case .bodyPartFileNotReachable: "body_part_file_not_reachable"
    case .bodyPartFileNotReachableWithError: "body_part_file_not_reachable_with_error"
    case .bodyPartFileIsDirectory: "body_part_file_is_directory"
    case .bodyPartFileSizeNotAvailable: "body_part_file_size_not_available"
    case .bodyPartFileSizeQueryFailedWithError: "body_part_file_size_query_failed_with_error"
    case .bodyPartInputStreamCreationFailed: "body_part_input_stream_creation_failed"
    case .outputStreamCreationFailed: "output_stream_creation_failed"
    case .outputStreamFileAlreadyExists: "output_stream_file_already_exists"
    case .outputStreamURLInvalid: "output_stream_url_invalid"
    case .outputStreamWriteFailed: "output_stream_write_failed"
    case .inputStreamReadFailed: "input_stream_read_failed"
    }
  }
}

extension WeirError.ParameterEncodingFailureReason {
  var label: String {
    switch self {
    case .missingURL: "missing_url"
    case .jsonEncodingFailed: "json_encoding_failed"
    case .customEncodingFailed: "custom_encoding_failed"
    }
  }
}

extension WeirError.ParameterEncoderFailureReason {
  var label: String {
    switch self {
    case .missingRequiredComponent: "missing_required_component"
    case .encoderFailed: "encoder_failed"
    }
  }
}

extension WeirError.ResponseValidationFailureReason {
  var label: String {
    switch self {
    case .dataFileNil: "data_file_nil"
    case .dataFileReadFailed: "data_file_read_failed"
    case .missingContentType: "missing_content_type"
    case .unacceptableContentType: "unacceptable_content_type"
    case .unacceptableStatusCode: "unacceptable_status_code"
    case .customValidationFailed: "custom_validation_failed"
    }
  }
}

extension WeirError.ResponseSerializationFailureReason {
  var label: String {
    switch self {
    case .inputDataNilOrZeroLength: "input_data_nil_or_zero_length"
    case .inputFileNil: "input_file_nil"
    case .inputFileReadFailed: "input_file_read_failed"
    case .stringSerializationFailed: "string_serialization_failed"
    case .unknownCharset: "unknown_charset"
    case .jsonSerializationFailed: "json_serialization_failed"
    case .decodingFailed: "decoding_failed"
    case .customSerializationFailed: "custom_serialization_failed"
    case .invalidEmptyResponse: "invalid_empty_response"
    }
  }
}

extension WeirError.ServerTrustFailureReason {
  var label: String {
    switch self {
    case .noRequiredEvaluator: "no_required_evaluator"
    case .noCertificatesFound: "no_certificates_found"
    case .noPublicKeysFound: "no_public_keys_found"
    case .defaultEvaluationFailed: "default_evaluation_failed"
    case .hostValidationFailed: "host_validation_failed"
    case .publicKeyPinningFailed: "public_key_pinning_failed"
    case .certificateAuthorityInvalid: "certificate_authority_invalid"
    case .insecureEvaluatorNotAllowed: "insecure_evaluator_not_allowed"
    case .customEvaluationFailed: "custom_evaluation_failed"
    }
  }
}

extension WeirError.URLRequestValidationFailureReason {
  var label: String {
    switch self {
    case .bodyDataInGETRequest: "body_data_in_get_request"
    case .invalidHeaderField: "invalid_header_field"
    case .invalidMethod: "invalid_method"
    }
  }
}
