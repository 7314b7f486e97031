internal import CCurl
internal import Glibc

/// Bytes that the TLS library has decrypted and libcurl has not asked for.
enum TLSBuffer {
  private typealias Pending = @convention(c) (UnsafeMutableRawPointer) -> CInt

  /// OpenSSL's `SSL_pending`, found in the process at run time: libcurl brings its TLS library along, and to link one of
  /// our own choice could bring a second.
  private static let pending: Pending? = dlsym(nil, "SSL_pending").map { unsafeBitCast($0, to: Pending.self) }

  /// Whether nothing waits there. True also where there is no TLS, or none of OpenSSL's, which can't be asked.
  static func isEmpty(_ easy: UnsafeMutableRawPointer) -> Bool {
    guard let pending, let connection = weir_easy_openssl(easy) else { return true }
    return pending(connection) <= 0
  }
}
