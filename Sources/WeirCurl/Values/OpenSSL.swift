internal import CCurl

/// The functions of the TLS library that libcurl uses, if it is OpenSSL or has functions of the same names.
enum OpenSSL {
  /// Nil if the process has no function of that name, or if CCurl/OpenSSL.c does not list it.
  ///
  /// - Parameter type: The function's type, which is `@convention(c)`.
  static func function<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
    weir_openssl_function(name).map { unsafeBitCast($0, to: type) }
  }
}
