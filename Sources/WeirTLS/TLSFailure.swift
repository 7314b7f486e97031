internal import CTLS

/// The reason why a connection's TLS ended other than by close_notify.
package struct TLSFailure: Error, Sendable, Hashable {
  /// The reasons, by the words that metrics use for them.
  package enum Reason: String, Sendable, Hashable, CaseIterable {
    /// The client's first bytes are no TLS.
    case notTLS = "not_tls"
    /// The client speaks no version that the listener allows.
    case version
    /// The client and the server have no cipher, signature or group in common.
    case noSharedCipher = "no_shared_cipher"
    /// The client named a host that no certificate covers, and names are strict.
    case unknownName = "unknown_name"
    /// The client offered protocols (ALPN), and neither http/1.1 nor http/1.0.
    case applicationProtocol = "application_protocol"
    /// The client has no certificate where one is required.
    case clientCertificateMissing = "client_certificate_missing"
    /// The client's certificate is not acceptable.
    case clientCertificateBad = "client_certificate_bad"
    /// The client sent a fatal alert, as it does if it doesn't trust the certificate.
    case alert
    /// The client broke the protocol, or the bytes were changed on their way.
    case protocolError = "protocol_error"
    /// The client asked for answers faster than it took them.
    case flood
    /// The stream was written to before the handshake or after its end.
    case notOpen = "not_open"
    /// OpenSSL failed for want of memory or of random numbers.
    case internalFailure = "internal_failure"
  }

  /// The reason, of which callers may make a decision.
  package let reason: Reason
  /// OpenSSL's words; empty if the reason says all.
  package let detail: String

  /// A word for metrics, without dynamic text.
  package var label: String { reason.rawValue }

  init(_ reason: Reason, detail: String = "") {
    self.reason = reason
    self.detail = detail
  }

  /// - Parameter verification: The result of the check of the client's certificate.
  init(_ error: OpenSSLError, verification: Int) {
    guard let number = error.tlsReason else {
      self.init(error.code == 0 ? .protocolError : .internalFailure, detail: error.text)
      return
    }
    guard number == SSL_R_CERTIFICATE_VERIFY_FAILED else {
      self.init(Self.reason(number), detail: error.text)
      return
    }
    // The code is given by judgeCertificate alone.
    let isRejected = verification == Int(X509_V_ERR_CERT_REJECTED)
    let text = isRejected ? nil : X509_verify_cert_error_string(verification).map { String(cString: $0) }
    let allowed = "none of its subject alternative names is allowed"
    self.init(.clientCertificateBad, detail: isRejected ? allowed : text ?? error.text)
  }

  private static func reason(_ number: CInt) -> Reason {
    switch number {
    case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_UNKNOWN_PROTOCOL: .notTLS
    case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_INAPPROPRIATE_FALLBACK: .version
    case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_NO_SUITABLE_KEY_SHARE,
      SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, SSL_R_NO_SUITABLE_GROUPS:
      .noSharedCipher
    case SSL_R_NO_APPLICATION_PROTOCOL: .applicationProtocol
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: .clientCertificateMissing
    case CInt(ERR_R_MALLOC_FAILURE), CInt(ERR_R_INTERNAL_ERROR): .internalFailure
    // OpenSSL gives alerts that it receives the numbers from here on.
    case weir_alert_reason_offset...: .alert
    default: .protocolError
    }
  }
}

extension TLSFailure: CustomStringConvertible {
  /// The reason in words, and OpenSSL's words for it.
  package var description: String { detail.isEmpty ? sentence : "\(sentence) (\(detail))" }

  private var sentence: String {
    switch reason {
    case .notTLS: "the client does not speak TLS"
    case .version: "the client speaks no TLS version that is allowed"
    case .noSharedCipher: "the client and the server have no cipher or signature in common"
    case .unknownName: "no certificate covers the name that the client asked for"
    case .applicationProtocol: "the client offers neither http/1.1 nor http/1.0"
    case .clientCertificateMissing: "the client has no certificate"
    case .clientCertificateBad: "the client's certificate is not accepted"
    case .alert: "the client refused the connection"
    case .protocolError: "the client broke the TLS protocol"
    case .flood: "the client asks for answers that it does not take"
    case .notOpen: "the connection is not open"
    case .internalFailure: "OpenSSL failed"
    }
  }
}
