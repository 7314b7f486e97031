internal import CTLS

/// The OpenSSL that this process has loaded.
package enum OpenSSLLibrary {
  /// The version, such as `3.0.17`.
  package static var version: String { OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "" }
}

/// An entry of OpenSSL's error queue, of which each thread has one. A call that fails adds to the queue, and what an
/// earlier call left there would be taken for the reason of a later failure.
struct OpenSSLError: Equatable {
  let code: UInt

  /// Empties the queue, as is due before a call whose failure is to be understood. To look first costs less.
  static func clear() { if ERR_peek_error() != 0 { ERR_clear_error() } }

  /// Takes the oldest entry, which is the reason of the others, and empties the queue.
  static func take() -> OpenSSLError {
    let code = ERR_get_error()
    ERR_clear_error()
    return OpenSSLError(code: code)
  }

  /// Takes the newest entry and empties the queue.
  static func takeLast() -> OpenSSLError {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    return OpenSSLError(code: code)
  }

  /// The number of the reason within OpenSSL's TLS library; nil for errors of other parts.
  var tlsReason: CInt? { weir_error_is_tls(code) ? weir_error_reason(code) : nil }

  /// Whether a PEM reader found no further block.
  var isEndOfPEM: Bool { weir_error_is_end_of_pem(code) }

  var text: String {
    if let text = ERR_reason_error_string(code) { return String(cString: text) }
    return code == 0 ? "no reason given" : "error \(code)"
  }
}
