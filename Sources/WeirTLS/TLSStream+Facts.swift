internal import CTLS

/// A client's certificate as upstreams are told of it.
package struct ClientCertificate: Sendable, Equatable {
  /// The subject in the notation of RFC 2253, in ASCII without control characters.
  package let subject: String
  /// The certificate's DER as a byte sequence between colons, the value of `Client-Cert` (RFC 9440 §2.2).
  package let encoded: String
}

/// The facts of a connection, known once its handshake is done.
extension TLSStream {
  /// The version of TLS, as "1.2" or "1.3".
  package var version: String { SSL_version(ssl) == TLS1_3_VERSION ? "1.3" : "1.2" }

  /// Whether only hosts are to be served that the certificate covers.
  package var hasStrictNames: Bool { context.settings.strictNames }

  /// Whether the connection began with a ticket in place of certificates.
  package var isResumed: Bool { SSL_session_reused(ssl) == 1 }

  /// The client's certificate, the earlier connection's if this one is resumed; nil if the client has none.
  package var clientCertificate: ClientCertificate? {
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    guard let subject = Self.subject(of: certificate), let encoded = Self.encode(certificate) else { return nil }
    return ClientCertificate(subject: subject, encoded: encoded)
  }

  /// Whether the certificate that the client has seen is for `host`, a URL's host without port. A resumed connection
  /// shows none; then one of those for the client's name has to be.
  package func certificateCovers(host: String) -> Bool {
    if !isResumed, let shown = SSL_get_certificate(ssl), let identity = chosen.first(where: { $0.isCertificate(shown) })
    {
      return identity.names.covers(host: host)
    }
    return chosen.contains { $0.names.covers(host: host) }
  }

  private static func subject(of certificate: OpaquePointer) -> String? {
    guard let bio = BIO_new(BIO_s_mem()) else { return nil }
    defer { BIO_free(bio) }
    guard let name = X509_get_subject_name(certificate), X509_NAME_print_ex(bio, name, 0, weir_name_rfc2253) >= 0
    else { return nil }
    var count = 0
    let bytes = weir_bio_memory(bio, &count)
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count), as: UTF8.self)
  }

  private static func encode(_ certificate: OpaquePointer) -> String? {
    var der: UnsafeMutablePointer<UInt8>?
    let length = i2d_X509(certificate, &der)
    guard length > 0, let der else { return nil }
    defer { CRYPTO_free(der, nil, 0) }
    // OpenSSL ends the text with a NUL.
    var text = [UInt8](repeating: 0, count: (Int(length) + 2) / 3 * 4 + 1)
    let written = EVP_EncodeBlock(&text, der, length)
    return ":\(String(decoding: text.prefix(Int(written)), as: UTF8.self)):"
  }
}
