internal import CCurl
internal import Glibc

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
    // Found by name, as in `TLSConnection`.
    guard let function = dlsym(nil, "OPENSSL_init_crypto") else { return }
    _ = unsafeBitCast(function, to: Initialize.self)(withoutExitHandler, nil)
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
