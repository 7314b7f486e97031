import Foundation
import FoundationNetworking
import Testing
import Weir

struct SampleError: Error, LocalizedError, Equatable {
  var errorDescription: String? { "sample reason" }
}

struct OtherError: Error, LocalizedError {
  var errorDescription: String? { "other reason" }
}

/// One error of each case and each reason, with what is expected of it.
struct ErrorSample: Sendable, CustomTestStringConvertible {
  let error: WeirError
  let outcome: RequestOutcome
  let label: String
  /// What the text must name.
  let names: [String]
  /// The outcome with a status of 500, where that differs.
  let outcomeOfErrorStatus: RequestOutcome

  init(
    _ error: WeirError, _ outcome: RequestOutcome, _ label: String, _ names: [String] = [],
    status500: RequestOutcome? = nil
  ) {
    self.error = error
    self.outcome = outcome
    self.label = label
    self.names = names
    outcomeOfErrorStatus = status500 ?? outcome
  }

  var testDescription: String { "\(label) \(names)" }

  static let file = URL(fileURLWithPath: "/dir/file")
  static let reason = SampleError()

  static let all: [ErrorSample] = cases + multipart + parameters + requests + responses + trust + transfers

  private static let cases: [ErrorSample] = [
    .init(.createUploadableFailed(error: reason), .creationFailed, "create_uploadable_failed", ["sample reason"]),
    .init(.createURLRequestFailed(error: reason), .creationFailed, "create_url_request_failed", ["sample reason"]),
    .init(
      .downloadedFileMoveFailed(error: reason, source: file, destination: URL(fileURLWithPath: "/to/there")),
      .fileError, "downloaded_file_move_failed", ["sample reason", "/dir/file", "/to/there"]),
    .init(.explicitlyCancelled, .cancelled, "explicitly_cancelled", ["cancelled"]),
    .init(.invalidURL(url: "http://[x"), .creationFailed, "invalid_url", ["http://[x"]),
    .init(.requestAdaptationFailed(error: reason), .adaptationFailed, "request_adaptation_failed", ["sample reason"]),
    .init(
      .requestRetryFailed(retryError: reason, originalError: OtherError()), .retryFailed, "request_retry_failed",
      ["sample reason", "other reason"]),
    .init(.sessionDeinitialized, .sessionEnded, "session_deinitialized", ["session"]),
    .init(.sessionInvalidated(error: nil), .sessionEnded, "session_invalidated", ["session"]),
    .init(.sessionInvalidated(error: reason), .sessionEnded, "session_invalidated", ["sample reason"]),
    .init(.sessionTaskFailed(error: reason), .transportError, "session_task_failed", ["sample reason"]),
    .init(.requestRejected(reason: .circuitOpen(retryAfter: 5)), .rejected, "circuit_open", ["circuit", "5.0 s"]),
    .init(.requestRejected(reason: .noEndpoint), .rejected, "no_endpoint", ["endpoints"]),
    .init(.requestRejected(reason: .circuitOpen(retryAfter: nil)), .rejected, "circuit_open", ["circuit"]),
    .init(.requestRejected(reason: .queueFull), .rejected, "queue_full", ["maximumPendingRequestsPerHost"]),
    .init(.requestRejected(reason: .admissionTimeout), .rejected, "admission_timeout", ["admissionTimeout"]),
    .init(
      .requestRejected(reason: .overloaded(reason: .waited, retryAfter: 1)), .rejected, "overloaded", ["overload"]),
    .init(
      .requestRejected(reason: .overloaded(reason: .paused, retryAfter: 4)), .rejected, "paused",
      ["pace.obey", "pace.wait"]),
    .init(
      .requestRejected(reason: .overloaded(reason: .pace, retryAfter: 4)), .rejected, "pace", ["pace.rate"]),
  ]

  private static func multipart(
    _ reason: WeirError.MultipartEncodingFailureReason, _ label: String, _ names: [String]
  ) -> ErrorSample {
    ErrorSample(.multipartEncodingFailed(reason: reason), .creationFailed, label, names)
  }

  private static let multipart: [ErrorSample] = [
    multipart(.bodyPartURLInvalid(url: file), "body_part_url_invalid", ["file:///dir/file"]),
    multipart(.bodyPartFilenameInvalid(in: file), "body_part_filename_invalid", ["/dir/file"]),
    multipart(.bodyPartFileNotReachable(at: file), "body_part_file_not_reachable", ["/dir/file"]),
    multipart(
      .bodyPartFileNotReachableWithError(atURL: file, error: reason), "body_part_file_not_reachable_with_error",
      ["/dir/file", "sample reason"]),
    multipart(.bodyPartFileIsDirectory(at: file), "body_part_file_is_directory", ["/dir/file"]),
    multipart(.bodyPartFileSizeNotAvailable(at: file), "body_part_file_size_not_available", ["/dir/file"]),
    multipart(
      .bodyPartFileSizeQueryFailedWithError(forURL: file, error: reason),
      "body_part_file_size_query_failed_with_error", ["/dir/file", "sample reason"]),
    multipart(.bodyPartInputStreamCreationFailed(for: file), "body_part_input_stream_creation_failed", ["/dir/file"]),
    multipart(.outputStreamCreationFailed(for: file), "output_stream_creation_failed", ["/dir/file"]),
    multipart(.outputStreamFileAlreadyExists(at: file), "output_stream_file_already_exists", ["/dir/file"]),
    multipart(.outputStreamURLInvalid(url: file), "output_stream_url_invalid", ["file:///dir/file"]),
    multipart(.outputStreamWriteFailed(error: reason), "output_stream_write_failed", ["sample reason"]),
    multipart(
      .inputStreamReadFailed(error: WeirError.UnexpectedInputStreamLength(bytesExpected: 12, bytesRead: 34)),
      "input_stream_read_failed", ["12", "34"]),
  ]

  private static let parameters: [ErrorSample] = [
    .init(.parameterEncodingFailed(reason: .missingURL), .creationFailed, "missing_url", ["URL"]),
    .init(
      .parameterEncodingFailed(reason: .jsonEncodingFailed(error: reason)), .creationFailed, "json_encoding_failed",
      ["sample reason"]),
    .init(
      .parameterEncodingFailed(reason: .customEncodingFailed(error: reason)), .creationFailed,
      "custom_encoding_failed", ["sample reason"]),
    .init(
      .parameterEncoderFailed(reason: .missingRequiredComponent(.url)), .creationFailed,
      "missing_required_component", ["URL"]),
    .init(
      .parameterEncoderFailed(reason: .missingRequiredComponent(.httpMethod(rawValue: "nil"))), .creationFailed,
      "missing_required_component", ["method", "nil"]),
    .init(
      .parameterEncoderFailed(reason: .encoderFailed(error: reason)), .creationFailed, "encoder_failed",
      ["sample reason"]),
  ]

  private static let requests: [ErrorSample] = [
    .init(
      .urlRequestValidationFailed(reason: .bodyDataInGETRequest(Data("secret".utf8))), .creationFailed,
      "body_data_in_get_request", ["GET", "6 bytes"]),
    .init(
      .urlRequestValidationFailed(reason: .invalidHeaderField(name: "a\nb")), .creationFailed,
      "invalid_header_field", [#"a\nb"#]),
    .init(
      .urlRequestValidationFailed(reason: .invalidMethod("a\r")), .creationFailed, "invalid_method", [#"a\r"#]),
  ]

  private static func validation(
    _ reason: WeirError.ResponseValidationFailureReason, _ outcome: RequestOutcome, _ label: String,
    _ names: [String]
  ) -> ErrorSample {
    ErrorSample(.responseValidationFailed(reason: reason), outcome, label, names, status500: .httpError)
  }

  private static func serialization(
    _ reason: WeirError.ResponseSerializationFailureReason, _ outcome: RequestOutcome, _ label: String,
    _ names: [String]
  ) -> ErrorSample {
    ErrorSample(.responseSerializationFailed(reason: reason), outcome, label, names, status500: .httpError)
  }

  private static let responses: [ErrorSample] = [
    validation(.dataFileNil, .fileError, "data_file_nil", ["file"]),
    validation(.dataFileReadFailed(at: file), .fileError, "data_file_read_failed", ["/dir/file"]),
    validation(
      .missingContentType(acceptableContentTypes: ["a/b", "c/d"]), .validationFailed, "missing_content_type",
      ["a/b, c/d"]),
    validation(
      .unacceptableContentType(acceptableContentTypes: ["a/b"], responseContentType: "x/y"), .validationFailed,
      "unacceptable_content_type", ["a/b", "x/y"]),
    validation(.unacceptableStatusCode(code: 304), .validationFailed, "unacceptable_status_code", ["304"]),
    validation(.unacceptableStatusCode(code: 404), .httpError, "unacceptable_status_code", ["404"]),
    validation(
      .customValidationFailed(error: reason), .validationFailed, "custom_validation_failed", ["sample reason"]),
    serialization(
      .inputDataNilOrZeroLength, .serializationFailed, "input_data_nil_or_zero_length", ["empty"]),
    serialization(.inputFileNil, .fileError, "input_file_nil", ["file"]),
    serialization(.inputFileReadFailed(at: file), .fileError, "input_file_read_failed", ["/dir/file"]),
    serialization(
      .stringSerializationFailed(encoding: .utf8), .serializationFailed, "string_serialization_failed", ["UTF-8"]),
    serialization(.unknownCharset("x-klingon"), .serializationFailed, "unknown_charset", ["x-klingon", "encoding"]),
    serialization(
      .jsonSerializationFailed(error: reason), .serializationFailed, "json_serialization_failed", ["sample reason"]),
    serialization(.decodingFailed(error: reason), .serializationFailed, "decoding_failed", ["sample reason"]),
    serialization(
      .customSerializationFailed(error: reason), .serializationFailed, "custom_serialization_failed",
      ["sample reason"]),
    serialization(.invalidEmptyResponse(type: "Int"), .serializationFailed, "invalid_empty_response", ["Int"]),
  ]

  private static func trust(
    _ reason: WeirError.ServerTrustFailureReason, _ label: String, _ names: [String]
  ) -> ErrorSample {
    ErrorSample(.serverTrustEvaluationFailed(reason: reason), .tlsError, label, names)
  }

  private static let output = WeirError.ServerTrustFailureReason.Output(host: "h.example", message: "expired", code: 60)

  private static let trust: [ErrorSample] = [
    trust(.noRequiredEvaluator(host: "h.example"), "no_required_evaluator", ["h.example"]),
    trust(.noCertificatesFound, "no_certificates_found", ["certificates"]),
    trust(.noPublicKeysFound, "no_public_keys_found", ["public keys"]),
    trust(.defaultEvaluationFailed(output: output), "default_evaluation_failed", ["h.example", "expired", "60"]),
    trust(.hostValidationFailed(output: output), "host_validation_failed", ["h.example", "expired", "60"]),
    trust(
      .publicKeyPinningFailed(host: "h.example", pinnedKeys: ["a", "b"]), "public_key_pinning_failed",
      ["h.example", "2"]),
    trust(.certificateAuthorityInvalid(error: reason), "certificate_authority_invalid", ["sample reason"]),
    trust(
      .insecureEvaluatorNotAllowed(host: "h.example"), "insecure_evaluator_not_allowed",
      ["h.example", "allowsInsecureServers"]),
    trust(.customEvaluationFailed(error: reason), "custom_evaluation_failed", ["sample reason"]),
  ]

  private static func transfer(_ code: URLError.Code, _ outcome: RequestOutcome, _ label: String) -> ErrorSample {
    let error = URLError(code, userInfo: [NSLocalizedDescriptionKey: "no luck at http://u:secret@h/"])
    return ErrorSample(
      .sessionTaskFailed(error: error), outcome, label, ["no luck"],
      status500: label.hasSuffix("d_url") ? .transportError : nil)
  }

  private static let transfers: [ErrorSample] = [
    transfer(.timedOut, .timeout, "timed_out"),
    transfer(.cancelled, .cancelled, "cancelled"),
    transfer(.cannotFindHost, .transportError, "cannot_find_host"),
    transfer(.cannotConnectToHost, .transportError, "cannot_connect_to_host"),
    transfer(.networkConnectionLost, .transportError, "network_connection_lost"),
    transfer(.badServerResponse, .transportError, "bad_server_response"),
    transfer(.dnsLookupFailed, .transportError, "dns_lookup_failed"),
    transfer(.requestBodyStreamExhausted, .creationFailed, "request_body_stream_exhausted"),
    transfer(.cannotDecodeContentData, .transportError, "cannot_decode_content_data"),
    transfer(.resourceUnavailable, .transportError, "resource_unavailable"),
    transfer(.secureConnectionFailed, .tlsError, "secure_connection_failed"),
    transfer(.serverCertificateUntrusted, .tlsError, "server_certificate_untrusted"),
    transfer(.serverCertificateHasBadDate, .tlsError, "server_certificate_has_bad_date"),
    transfer(.serverCertificateNotYetValid, .tlsError, "server_certificate_not_yet_valid"),
    transfer(.serverCertificateHasUnknownRoot, .tlsError, "server_certificate_has_unknown_root"),
    transfer(.clientCertificateRejected, .tlsError, "client_certificate_rejected"),
    transfer(.clientCertificateRequired, .tlsError, "client_certificate_required"),
    transfer(.dataLengthExceedsMaximum, .limitExceeded, "data_length_exceeds_maximum"),
    transfer(.httpTooManyRedirects, .limitExceeded, "http_too_many_redirects"),
    transfer(
      .appTransportSecurityRequiresSecureConnection, .limitExceeded,
      "app_transport_security_requires_secure_connection"),
    transfer(.cannotWriteToFile, .fileError, "cannot_write_to_file"),
    transfer(.cannotOpenFile, .fileError, "cannot_open_file"),
    transfer(.badURL, .creationFailed, "bad_url"),
    transfer(.unsupportedURL, .creationFailed, "unsupported_url"),
  ]
}
