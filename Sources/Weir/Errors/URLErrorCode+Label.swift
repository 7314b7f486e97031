import Foundation

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
