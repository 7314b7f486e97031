extension TLSConfiguration.PublicKeyPin {
  /// The pin of a certificate's key, or of a public key (RFC 5280 section 4.1.2.7), in DER.
  ///
  /// - Throws: ``WeirError/ServerTrustFailureReason/noPublicKeysFound`` for anything else, such as a private key.
  public init(der data: Data) throws {
    try self.init(publicKeyIn: [UInt8](data))
  }

  /// The pin of the first `CERTIFICATE` or `PUBLIC KEY` in a text (RFC 7468). In a chain a server's own certificate
  /// comes first.
  ///
  /// - Throws: ``WeirError/ServerTrustFailureReason/noPublicKeysFound`` if there is neither.
  public init(pem text: String) throws {
    let piece = PEM.pieces(of: text.utf8).first { $0.isCertificate || $0.label == "PUBLIC KEY" }
    try self.init(publicKeyIn: piece?.bytes ?? [])
  }

  private init(publicKeyIn bytes: [UInt8]) throws {
    guard let key = DERReader.publicKey(in: bytes) else {
      throw WeirError.serverTrustEvaluationFailed(reason: .noPublicKeysFound)
    }
    self.init(sha256: SHA256.base64(of: key))
  }
}
