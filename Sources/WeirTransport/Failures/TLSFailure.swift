/// A failure of TLS itself, as OpenSSL describes it. It is read from libcurl's text of a failure to connect, send or
/// receive: for the latter two libcurl has no code that tells TLS from TCP. From TLS 1.3 on a server may refuse a
/// client's certificate after the handshake is over for the client (RFC 8446 section 4.4.2).
struct TLSFailure: Equatable {
  let code: FailureCode

  /// Nil when the text is not from OpenSSL, or only reports the end of the connection.
  init?(_ text: String) {
    guard text.contains("SSL routines"), !text.contains("unexpected eof") else { return nil }
    code =
      if text.contains("alert certificate required") {
        .clientCertificateRequired
      } else if Self.refusals.contains(where: text.contains) {
        .clientCertificateRejected
      } else {
        .secureConnectionFailed
      }
  }

  /// OpenSSL's names for the alerts by which a server refuses a client's certificate (RFC 8446 section 6.2).
  private static let refusals = [
    "alert bad certificate", "alert unsupported certificate", "alert certificate revoked", "alert certificate expired",
    "alert certificate unknown", "alert unknown ca", "alert access denied",
  ]
}
