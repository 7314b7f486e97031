internal import CCurl
internal import Glibc

/// The libcurl that runs in this process, which may be newer than the one built against.
package enum CurlLibrary {
  /// Sets up libcurl once per process; the result of that.
  static let initialized: CurlCode = {
    keepOpenSSL()
    return CurlCode(rawValue: curl_global_init(weir_global_default).rawValue)
  }()

  /// Has OpenSSL not free what is its own in `exit`: threads that end meanwhile, such as the loop of a session that was let go
  /// of last, free parts of that too (docs/libcurl.md). It has to hear of it before anything else; one that was set up by
  /// somebody else stays as it is.
  private static func keepOpenSSL() {
    typealias Initialize = @convention(c) (_ options: UInt64, _ settings: UnsafeRawPointer?) -> CInt
    let withoutExitHandler: UInt64 = 0x80000  // OPENSSL_INIT_NO_ATEXIT
    // Found as `TLSBuffer` finds its own.
    guard let function = dlsym(nil, "OPENSSL_init_crypto") else { return }
    _ = unsafeBitCast(function, to: Initialize.self)(withoutExitHandler, nil)
  }

  /// 0xXXYYZZ for version XX.YY.ZZ.
  package static let versionNumber: UInt32 = weir_curl_version_number()

  /// Such as `7.88.1`.
  package static let version: String = weir_curl_version_text().map { String(cString: $0) } ?? ""

  /// Whether its TLS library is OpenSSL or one of those that number their results as OpenSSL does.
  static let usesOpenSSL =
    weir_curl_tls_text().map { text in
      let text = String(cString: text)
      return ["OpenSSL", "LibreSSL", "BoringSSL", "AWS-LC", "quictls"].contains { text.hasPrefix($0) }
    } ?? false

  /// 7.88.1 gives a second address its turn when the first has not answered in time, and then waits for nothing: not even
  /// to open that socket. 8.14.1 does not.
  static let forgetsNextAddress = versionNumber < 0x080100

  /// Below 8.1 parallel HTTP/2 transfers may lose bytes, spin or stall.
  package static let hasReliableHTTP2 = versionNumber >= 0x080100

  /// When a peer breaks the rules of HTTP/2, nghttp2 ends the connection by itself, and libcurl notices at its next call,
  /// whatever that is for. 7.88.1 notices at once.
  static let noticesHTTP2EndLate = versionNumber >= 0x080100

  // What hostile upstreams need (docs/libcurl.md). Some of it was mended before 8.14.1, which is where it was seen to be.

  /// Older ones keep a pointer to a freed header field beyond `curl_easy_reset`.
  static let canReuseHandles = versionNumber >= 0x080e01
  /// Older ones take the cut of a TLS connection for the end of a body that nothing else ends.
  package static let noticesTruncation = versionNumber >= 0x080e01
}
