/// The defect of a server's certificate: OpenSSL's verify result (X509_STORE_CTX_get_error(3)), which libcurl passes on
/// as a number. The texts of both libraries change between versions, the numbers do not.
package enum CertificateDefect: Sendable, Hashable {
  case expired
  case notYetValid
  /// The certificate's chain leads to none of the trusted roots.
  case unknownRoot
  /// The certificate is for another name.
  case wrongHost
  /// The certificate was revoked, is not for servers, is too weak, …
  case other

  /// - Parameters:
  ///   - result: The verify result of a transfer that failed with ``CurlCode/peerFailedVerification``.
  ///   - isOpenSSL: Whether the number has OpenSSL's meaning.
  package init(verifyResult result: Int, isOpenSSL: Bool = true) {
    guard isOpenSSL else {
      self = .other
      return
    }
    self =
      switch result {
      // libcurl compares the names itself, before it reads the result; 1 is the result's initial value.
      case 0, 1, 62, 64: .wrongHost
      case 10, 14: .expired
      case 9, 13: .notYetValid
      case 2, 18, 19, 20, 21: .unknownRoot
      default: .other
      }
  }
}
