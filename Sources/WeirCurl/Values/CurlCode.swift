/// A result of libcurl's easy interface (libcurl-errors(3)). Codes that http and https can not give have no name here
/// and keep their number.
package struct CurlCode: RawRepresentable, Sendable, Hashable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }
}

extension CurlCode {
  package static let ok = CurlCode(rawValue: 0)
  package static let unsupportedProtocol = CurlCode(rawValue: 1)
  package static let failedInit = CurlCode(rawValue: 2)
  package static let malformedURL = CurlCode(rawValue: 3)
  package static let notBuiltIn = CurlCode(rawValue: 4)
  package static let couldNotResolveProxy = CurlCode(rawValue: 5)
  package static let couldNotResolveHost = CurlCode(rawValue: 6)
  package static let couldNotConnect = CurlCode(rawValue: 7)
  package static let weirdServerReply = CurlCode(rawValue: 8)
  package static let remoteAccessDenied = CurlCode(rawValue: 9)
  package static let http2Framing = CurlCode(rawValue: 16)
  package static let partialFile = CurlCode(rawValue: 18)
  package static let httpReturnedError = CurlCode(rawValue: 22)
  package static let writeError = CurlCode(rawValue: 23)
  package static let uploadFailed = CurlCode(rawValue: 25)
  package static let readError = CurlCode(rawValue: 26)
  package static let outOfMemory = CurlCode(rawValue: 27)
  package static let timedOut = CurlCode(rawValue: 28)
  package static let rangeError = CurlCode(rawValue: 33)
  package static let httpPostError = CurlCode(rawValue: 34)
  package static let tlsConnect = CurlCode(rawValue: 35)
  package static let badDownloadResume = CurlCode(rawValue: 36)
  package static let functionNotFound = CurlCode(rawValue: 41)
  package static let abortedByCallback = CurlCode(rawValue: 42)
  package static let badFunctionArgument = CurlCode(rawValue: 43)
  package static let interfaceFailed = CurlCode(rawValue: 45)
  package static let tooManyRedirects = CurlCode(rawValue: 47)
  package static let unknownOption = CurlCode(rawValue: 48)
  package static let optionSyntax = CurlCode(rawValue: 49)
  package static let emptyReply = CurlCode(rawValue: 52)
  package static let tlsEngineNotFound = CurlCode(rawValue: 53)
  package static let tlsEngineSetFailed = CurlCode(rawValue: 54)
  package static let sendError = CurlCode(rawValue: 55)
  package static let receiveError = CurlCode(rawValue: 56)
  package static let clientCertificateProblem = CurlCode(rawValue: 58)
  package static let tlsCipher = CurlCode(rawValue: 59)
  package static let peerFailedVerification = CurlCode(rawValue: 60)
  package static let badContentEncoding = CurlCode(rawValue: 61)
  package static let fileSizeExceeded = CurlCode(rawValue: 63)
  package static let sendRewindFailed = CurlCode(rawValue: 65)
  package static let tlsEngineInitFailed = CurlCode(rawValue: 66)
  package static let loginDenied = CurlCode(rawValue: 67)
  package static let badTrustRoots = CurlCode(rawValue: 77)
  package static let tlsShutdownFailed = CurlCode(rawValue: 80)
  package static let again = CurlCode(rawValue: 81)
  package static let badRevocationList = CurlCode(rawValue: 82)
  package static let tlsIssuerError = CurlCode(rawValue: 83)
  package static let chunkFailed = CurlCode(rawValue: 88)
  package static let noConnectionAvailable = CurlCode(rawValue: 89)
  package static let pinnedPublicKeyMismatch = CurlCode(rawValue: 90)
  package static let invalidCertificateStatus = CurlCode(rawValue: 91)
  package static let http2Stream = CurlCode(rawValue: 92)
  package static let recursiveCall = CurlCode(rawValue: 93)
  package static let authError = CurlCode(rawValue: 94)
  package static let http3Layer = CurlCode(rawValue: 95)
  package static let quicConnectError = CurlCode(rawValue: 96)
  package static let proxy = CurlCode(rawValue: 97)
  package static let clientCertificateRequired = CurlCode(rawValue: 98)
  package static let unrecoverablePoll = CurlCode(rawValue: 99)
  /// Too large a value for an option, from libcurl 8.6 on.
  package static let tooLarge = CurlCode(rawValue: 100)
  /// From libcurl 8.10 on.
  package static let echRequired = CurlCode(rawValue: 101)
}

extension CurlCode {
  /// Whether it tells of TLS, which begins when TCP stands.
  var isOfHandshake: Bool {
    switch self {
    case .tlsConnect, .tlsCipher, .peerFailedVerification, .clientCertificateProblem, .clientCertificateRequired,
      .badTrustRoots, .badRevocationList, .tlsIssuerError, .pinnedPublicKeyMismatch, .invalidCertificateStatus:
      true
    default: false
    }
  }

  /// Whether nothing of the other side can be the reason: memory, files, libcurl itself.
  var isOwnDefect: Bool {
    switch self {
    case .failedInit, .outOfMemory, .clientCertificateProblem, .badTrustRoots, .badRevocationList: true
    default: false
    }
  }

  /// The code's name in the C header, in small letters without prefix; `other` for codes without a name here.
  package var label: String {
    switch rawValue {
    case 0: "ok"
    case 1: "unsupported_protocol"
    case 2: "failed_init"
    case 3: "url_malformat"
    case 4: "not_built_in"
    case 5: "couldnt_resolve_proxy"
    case 6: "couldnt_resolve_host"
    case 7: "couldnt_connect"
    case 8: "weird_server_reply"
    case 9: "remote_access_denied"
    case 16: "http2"
    case 18: "partial_file"
    case 22: "http_returned_error"
    case 23: "write_error"
    case 25: "upload_failed"
    case 26: "read_error"
    case 27: "out_of_memory"
    case 28: "operation_timedout"
    case 33: "range_error"
    case 34: "http_post_error"
    case 35: "ssl_connect_error"
    case 36: "bad_download_resume"
    case 41: "function_not_found"
    case 42: "aborted_by_callback"
    case 43: "bad_function_argument"
    case 45: "interface_failed"
    case 47: "too_many_redirects"
    case 48: "unknown_option"
    case 49: "setopt_option_syntax"
    case 52: "got_nothing"
    case 53: "ssl_engine_notfound"
    case 54: "ssl_engine_setfailed"
    case 55: "send_error"
    case 56: "recv_error"
    case 58: "ssl_certproblem"
    case 59: "ssl_cipher"
    case 60: "peer_failed_verification"
    case 61: "bad_content_encoding"
    case 63: "filesize_exceeded"
    case 65: "send_fail_rewind"
    case 66: "ssl_engine_initfailed"
    case 67: "login_denied"
    case 77: "ssl_cacert_badfile"
    case 80: "ssl_shutdown_failed"
    case 81: "again"
    case 82: "ssl_crl_badfile"
    case 83: "ssl_issuer_error"
    case 88: "chunk_failed"
    case 89: "no_connection_available"
    case 90: "ssl_pinnedpubkeynotmatch"
    case 91: "ssl_invalidcertstatus"
    case 92: "http2_stream"
    case 93: "recursive_api_call"
    case 94: "auth_error"
    case 95: "http3"
    case 96: "quic_connect_error"
    case 97: "proxy"
    case 98: "ssl_clientcert"
    case 99: "unrecoverable_poll"
    case 100: "too_large"
    case 101: "ech_required"
    default: "other"
    }
  }
}
