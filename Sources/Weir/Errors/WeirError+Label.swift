import Foundation
import FoundationNetworking

extension WeirError {
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
    case .requestRejected(let reason): reason.label
    case .requestRetryFailed: "request_retry_failed"
    case .responseValidationFailed(let reason): reason.label
    case .responseSerializationFailed(let reason): reason.label
    case .serverTrustEvaluationFailed(let reason): reason.label
    case .sessionDeinitialized: "session_deinitialized"
    case .sessionInvalidated: "session_invalidated"
    case .sessionTaskFailed(let error): (error as? URLError).map(\.code.label) ?? "session_task_failed"
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

extension WeirError.RequestRejectionReason {
  var label: String {
    switch self {
    case .circuitOpen: "circuit_open"
    case .queueFull: "queue_full"
    case .admissionTimeout: "admission_timeout"
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

extension URLError.Code {
  /// The code's name in snake case.
  package var label: String {
    switch self {
    case .unknown: "unknown"
    case .cancelled: "cancelled"
    case .badURL: "bad_url"
    case .timedOut: "timed_out"
    case .unsupportedURL: "unsupported_url"
    case .cannotFindHost: "cannot_find_host"
    case .cannotConnectToHost: "cannot_connect_to_host"
    case .networkConnectionLost: "network_connection_lost"
    case .dnsLookupFailed: "dns_lookup_failed"
    case .httpTooManyRedirects: "http_too_many_redirects"
    case .resourceUnavailable: "resource_unavailable"
    case .notConnectedToInternet: "not_connected_to_internet"
    case .redirectToNonExistentLocation: "redirect_to_non_existent_location"
    case .badServerResponse: "bad_server_response"
    case .userCancelledAuthentication: "user_cancelled_authentication"
    case .userAuthenticationRequired: "user_authentication_required"
    case .zeroByteResource: "zero_byte_resource"
    case .cannotDecodeRawData: "cannot_decode_raw_data"
    case .cannotDecodeContentData: "cannot_decode_content_data"
    case .cannotParseResponse: "cannot_parse_response"
    case .appTransportSecurityRequiresSecureConnection: "app_transport_security_requires_secure_connection"
    case .fileDoesNotExist: "file_does_not_exist"
    case .fileIsDirectory: "file_is_directory"
    case .noPermissionsToReadFile: "no_permissions_to_read_file"
    case .dataLengthExceedsMaximum: "data_length_exceeds_maximum"
    case .secureConnectionFailed: "secure_connection_failed"
    case .serverCertificateHasBadDate: "server_certificate_has_bad_date"
    case .serverCertificateUntrusted: "server_certificate_untrusted"
    case .serverCertificateHasUnknownRoot: "server_certificate_has_unknown_root"
    case .serverCertificateNotYetValid: "server_certificate_not_yet_valid"
    case .clientCertificateRejected: "client_certificate_rejected"
    case .clientCertificateRequired: "client_certificate_required"
    case .cannotLoadFromNetwork: "cannot_load_from_network"
    case .cannotCreateFile: "cannot_create_file"
    case .cannotOpenFile: "cannot_open_file"
    case .cannotCloseFile: "cannot_close_file"
    case .cannotWriteToFile: "cannot_write_to_file"
    case .cannotRemoveFile: "cannot_remove_file"
    case .cannotMoveFile: "cannot_move_file"
    case .downloadDecodingFailedMidStream: "download_decoding_failed_mid_stream"
    case .downloadDecodingFailedToComplete: "download_decoding_failed_to_complete"
    case .internationalRoamingOff: "international_roaming_off"
    case .callIsActive: "call_is_active"
    case .dataNotAllowed: "data_not_allowed"
    case .requestBodyStreamExhausted: "request_body_stream_exhausted"
    case .backgroundSessionRequiresSharedContainer: "background_session_requires_shared_container"
    case .backgroundSessionInUseByAnotherProcess: "background_session_in_use_by_another_process"
    case .backgroundSessionWasDisconnected: "background_session_was_disconnected"
    // An open struct on Apple systems, a closed enum elsewhere.
    #if canImport(Darwin)
      default: "url_error"
    #endif
    }
  }
}
