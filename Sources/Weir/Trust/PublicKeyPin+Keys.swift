extension TLSConfiguration.PublicKeyPin {
  /// Takes the key of a certificate, or a public key (RFC 5280 section 4.1.2.7), in DER.
  ///
  /// - Throws: ``WeirError/ServerTrustFailureReason/noPublicKeysFound`` for anything else, a private key too.
  public init(der data: Data) throws {
    try self.init(publicKeyIn: [UInt8](data))
  }

  /// Takes the key of the first `CERTIFICATE`, or the first `PUBLIC KEY`, in a text (RFC 7468). A server's own
  /// certificate stands in front of those that it leads to.
  ///
  /// - Throws: ``WeirError/ServerTrustFailureReason/noPublicKeysFound`` where there is none.
  public init(pem text: String) throws {
    let piece = PEM.pieces(of: text.utf8).first { $0.isCertificate || $0.label == "PUBLIC KEY" }
    try self.init(publicKeyIn: piece?.bytes ?? [])
  }

  private init(publicKeyIn bytes: [UInt8]) throws {
    guard let key = DERReader.publicKey(in: bytes) else {
      throw WeirError.serverTrustEvaluationFailed(reason: .noPublicKeysFound)
    }
    self.init(sha256: Data(SHA256.digest(of: key)).base64EncodedString())
  }
}
