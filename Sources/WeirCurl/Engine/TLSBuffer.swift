internal import CCurl
internal import Glibc

/// Bytes that the TLS library has decrypted and libcurl has not asked for.
enum TLSBuffer {
  private typealias Pending = @convention(c) (UnsafeMutableRawPointer) -> CInt

  /// OpenSSL's `SSL_pending`, found by name at run time: libcurl brings its own TLS library, and linking one here could
  /// bring a second.
  private static let pending: Pending? = dlsym(nil, "SSL_pending").map { unsafeBitCast($0, to: Pending.self) }

  /// Whether the buffer is empty. Also true without TLS, and with a TLS library other than OpenSSL, which can't be
  /// asked.
  static func isEmpty(_ easy: UnsafeMutableRawPointer) -> Bool {
    guard let pending, let connection = weir_easy_openssl(easy) else { return true }
    return pending(connection) <= 0
  }
}
