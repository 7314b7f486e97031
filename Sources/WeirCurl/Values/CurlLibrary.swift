internal import CCurl

/// The libcurl that runs in this process, which may be newer than the one built against.
package enum CurlLibrary {
  /// Sets up libcurl once per process, and keeps the result.
  static let initialized: CurlCode = {
    keepOpenSSL()
    return CurlCode(rawValue: curl_global_init(weir_global_default).rawValue)
  }()

  /// Keeps OpenSSL from freeing its data in `exit`: threads that end meanwhile, such as the loop of a session that is
  /// released last, also free parts of it (docs/libcurl.md). OpenSSL must be told before its first use. If the program
  /// has set it up already, nothing changes.
  private static func keepOpenSSL() {
    typealias Initialize = @convention(c) (_ options: UInt64, _ settings: UnsafeRawPointer?) -> CInt
    let withoutExitHandler: UInt64 = 0x80000  // OPENSSL_INIT_NO_ATEXIT
    _ = OpenSSL.function("OPENSSL_init_crypto", as: Initialize.self)?(withoutExitHandler, nil)
  }

  /// 0xXXYYZZ for version XX.YY.ZZ.
  package static let versionNumber: UInt32 = weir_curl_version_number()

  /// The version as text, such as `7.88.1`.
  package static let version: String = weir_curl_version_text().map { String(cString: $0) } ?? ""

  /// The TLS library of libcurl with its version, such as `OpenSSL/3.0.17`.
  package static let tls: String = weir_curl_tls_text().map { String(cString: $0) } ?? ""

  /// Whether the TLS library is OpenSSL, or one that uses OpenSSL's result numbers.
  static let usesOpenSSL =
    weir_curl_tls_text().map { text in
      let text = String(cString: text)
      return ["OpenSSL", "LibreSSL", "BoringSSL", "AWS-LC", "quictls"].contains { text.hasPrefix($0) }
    } ?? false

  /// Below 7.85 a connection of `CURLOPT_CONNECT_ONLY` outlives its handle, and libcurl closes its descriptor some time
  /// later, when that may be another's.
  static let givesConnectionsAway = versionNumber >= 0x075500

  /// libcurl 7.88.1 switches to a second address when the first has not answered in time, but then waits for no event
  /// and no timeout, so that it does not even open the new socket. 8.14.1 does not have this defect.
  static let forgetsNextAddress = versionNumber < 0x080100

  /// Below 8.1 parallel HTTP/2 transfers may lose bytes, spin or stall.
  package static let hasReliableHTTP2 = versionNumber >= 0x080100

  /// Whether the TLS library can be asked about a connection, so that other engines can use it.
  package static var hasKnownTLS: Bool { TLSConnection.isKnown }

  /// When a peer breaks the rules of HTTP/2, nghttp2 ends the connection by itself. From 8.1 on libcurl notices that
  /// only at its next call, whatever the reason for that call; 7.88.1 notices at once.
  static let noticesHTTP2EndLate = versionNumber >= 0x080100

  // Protections from hostile upstreams (docs/libcurl.md). Some defects were fixed before 8.14.1, but that is the
  // version in which the fixes were seen to work.

  /// Older versions keep a pointer to a freed header field beyond `curl_easy_reset`.
  static let canReuseHandles = versionNumber >= 0x080e01
  /// Older versions take the cut of a TLS connection for the end of a close-delimited body.
  package static let noticesTruncation = versionNumber >= 0x080e01
}

/// A result of libcurl's easy interface (libcurl-errors(3)). Codes on which nothing here depends have no name and keep
/// their number.
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
  package static let couldNotResolveProxy = CurlCode(rawValue: 5)
  package static let couldNotResolveHost = CurlCode(rawValue: 6)
  package static let couldNotConnect = CurlCode(rawValue: 7)
  package static let weirdServerReply = CurlCode(rawValue: 8)
  package static let http2Framing = CurlCode(rawValue: 16)
  package static let partialFile = CurlCode(rawValue: 18)
  package static let writeError = CurlCode(rawValue: 23)
  package static let outOfMemory = CurlCode(rawValue: 27)
  package static let timedOut = CurlCode(rawValue: 28)
  package static let tlsConnect = CurlCode(rawValue: 35)
  package static let abortedByCallback = CurlCode(rawValue: 42)
  package static let badFunctionArgument = CurlCode(rawValue: 43)
  package static let interfaceFailed = CurlCode(rawValue: 45)
  package static let tooManyRedirects = CurlCode(rawValue: 47)
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
  package static let badTrustRoots = CurlCode(rawValue: 77)
  package static let badRevocationList = CurlCode(rawValue: 82)
  package static let tlsIssuerError = CurlCode(rawValue: 83)
  package static let chunkFailed = CurlCode(rawValue: 88)
  package static let pinnedPublicKeyMismatch = CurlCode(rawValue: 90)
  package static let invalidCertificateStatus = CurlCode(rawValue: 91)
  package static let http2Stream = CurlCode(rawValue: 92)
  package static let proxy = CurlCode(rawValue: 97)
  package static let clientCertificateRequired = CurlCode(rawValue: 98)
  /// The value of an option is too large, from libcurl 8.6 on.
  package static let tooLarge = CurlCode(rawValue: 100)
}

extension CurlCode {
  /// Whether the code reports a failure of TLS, which begins after TCP is established.
  var isOfHandshake: Bool {
    switch self {
    case .tlsConnect, .tlsCipher, .peerFailedVerification, .clientCertificateProblem, .clientCertificateRequired,
      .badTrustRoots, .badRevocationList, .tlsIssuerError, .pinnedPublicKeyMismatch, .invalidCertificateStatus:
      true
    default: false
    }
  }

  /// Whether the cause lies in this process and not in the peer: memory, files, or libcurl itself.
  var isOwnDefect: Bool {
    switch self {
    case .failedInit, .outOfMemory, .clientCertificateProblem, .badTrustRoots, .badRevocationList: true
    default: false
    }
  }

  /// The code's name in the C header, in lower case without its prefix; `other` for codes that http and https don't
  /// produce.
  package var label: String {
    Self.labels[rawValue] ?? "other"
  }

  private static let labels: [UInt32: String] = [
    0: "ok", 1: "unsupported_protocol", 2: "failed_init", 3: "url_malformat", 4: "not_built_in",
    5: "couldnt_resolve_proxy", 6: "couldnt_resolve_host", 7: "couldnt_connect", 8: "weird_server_reply",
    9: "remote_access_denied", 16: "http2", 18: "partial_file", 22: "http_returned_error", 23: "write_error",
    25: "upload_failed", 26: "read_error", 27: "out_of_memory", 28: "operation_timedout", 33: "range_error",
    34: "http_post_error", 35: "ssl_connect_error", 36: "bad_download_resume", 41: "function_not_found",
    42: "aborted_by_callback", 43: "bad_function_argument", 45: "interface_failed", 47: "too_many_redirects",
    48: "unknown_option", 49: "setopt_option_syntax", 52: "got_nothing", 53: "ssl_engine_notfound",
    54: "ssl_engine_setfailed", 55: "send_error", 56: "recv_error", 58: "ssl_certproblem", 59: "ssl_cipher",
    60: "peer_failed_verification", 61: "bad_content_encoding", 63: "filesize_exceeded", 65: "send_fail_rewind",
    66: "ssl_engine_initfailed", 67: "login_denied", 77: "ssl_cacert_badfile", 80: "ssl_shutdown_failed", 81: "again",
    82: "ssl_crl_badfile", 83: "ssl_issuer_error", 88: "chunk_failed", 89: "no_connection_available",
    90: "ssl_pinnedpubkeynotmatch", 91: "ssl_invalidcertstatus", 92: "http2_stream", 93: "recursive_api_call",
    94: "auth_error", 95: "http3", 96: "quic_connect_error", 97: "proxy", 98: "ssl_clientcert",
    99: "unrecoverable_poll", 100: "too_large", 101: "ech_required",
  ]
}

/// Texts of libcurl, which may quote the peer.
enum CurlText {
  /// The text without header fields, which may hold secrets: newer versions quote a field that nghttp2 refuses. Line
  /// ends and other control characters, which may also stand in a certificate's names, become `?`.
  static func sanitized(_ text: String) -> String {
    let refusedField = "Invalid HTTP header field was received"
    if text.hasPrefix(refusedField) { return refusedField }
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var clean = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { clean.append(isControl(scalar) ? "?" : scalar) }
    return String(clean)
  }

  /// Unicode's category Cc, without its tables: each connection that is refused has such a text.
  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value
  }
}
