/// What is wrong with a server's certificate: OpenSSL's verify result (X509_STORE_CTX_get_error(3)), which libcurl hands
/// on as a number. The texts of both change with their versions.
package enum CertificateDefect: Sendable, Hashable {
  case expired
  case notYetValid
  /// It leads to none of the trusted roots, itself included.
  case unknownRoot
  /// It is for another name.
  case wrongHost
  /// It was revoked, is no certificate for servers, is too weak, …
  case other

  /// - Parameters:
  ///   - result: of a transfer whose server did not pass (``CurlCode/peerFailedVerification``).
  ///   - isOpenSSL: whether the number means anything.
  package init(verifyResult result: Int, isOpenSSL: Bool = true) {
    guard isOpenSSL else {
      self = .other
      return
    }
    self =
      switch result {
      // libcurl itself compares the names, before it asks for the result; 1 is what it begins with.
      case 0, 1, 62, 64: .wrongHost
      case 10, 14: .expired
      case 9, 13: .notYetValid
      case 2, 18, 19, 20, 21: .unknownRoot
      default: .other
      }
  }
}
