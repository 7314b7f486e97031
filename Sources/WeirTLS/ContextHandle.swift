internal import CTLS

/// OpenSSL's object for a context, which it owns.
final class ContextHandle {
  let pointer: OpaquePointer

  init() throws(TLSProblem) {
    OpenSSLError.clear()
    guard let pointer = SSL_CTX_new(TLS_server_method()) else {
      throw .internalFailure(detail: OpenSSLError.take().text)
    }
    self.pointer = pointer
  }

  deinit { SSL_CTX_free(pointer) }

  /// Sets all but the certificates, which each connection gets when its client's name is known.
  func configure(_ settings: TLSSettings) throws(TLSProblem) {
    OpenSSLError.clear()
    SSL_CTX_set_options(pointer, weir_op_no_renegotiation | weir_op_no_compression)
    // An idle connection gives its record buffers back.
    weir_ctx_set_mode(pointer, weir_mode_release_buffers)
    weir_ctx_disable_session_cache(pointer)
    try check(weir_ctx_set_min_version(pointer, settings.minimumVersion == .v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION))
    try check(SSL_CTX_set_max_early_data(pointer, 0) == 1)
    try check(SSL_CTX_set_recv_max_early_data(pointer, 0) == 1)
    try check(weir_ctx_set_ticket_callback(pointer, sealTicket))
    try check(SSL_CTX_set_session_ticket_cb(pointer, nil, judgeTicket, nil) == 1)
    SSL_CTX_set_client_hello_cb(pointer, noteHello, nil)
    weir_ctx_set_name_callback(pointer, chooseByName)
    SSL_CTX_set_cert_cb(pointer, installIdentities, nil)
    SSL_CTX_set_alpn_select_cb(pointer, chooseProtocol, nil)
    try setSessionContext(settings)
    if let authorities = settings.clientCA { try trust(authorities, settings.clientAuth) }
  }

  /// A ticket is good only where clients have to show the same: OpenSSL compares this value with the ticket's, and does
  /// not check a resumed session's client certificate again.
  private func setSessionContext(_ settings: TLSSettings) throws(TLSProblem) {
    let rule: UInt8 = settings.clientCA == nil ? 0 : settings.clientAuth == .optional ? 1 : 2
    let text = [rule] + (settings.clientCA ?? [])
    var digest = [UInt8](repeating: 0, count: Int(SSL_MAX_SID_CTX_LENGTH))
    try check(EVP_Digest(text, text.count, &digest, nil, EVP_sha256(), nil) == 1)
    try check(SSL_CTX_set_session_id_context(pointer, digest, UInt32(digest.count)) == 1)
  }

  private func trust(_ pem: [UInt8], _ clientAuth: TLSSettings.ClientAuth) throws(TLSProblem) {
    let authorities = try Self.readAuthorities(pem)
    defer { authorities.forEach { X509_free($0) } }
    guard let store = SSL_CTX_get_cert_store(pointer) else { throw .internalFailure(detail: "no store") }
    OpenSSLError.clear()
    for authority in authorities {
      // Both calls take a reference of their own. One that is there already is no error.
      try check(X509_STORE_add_cert(store, authority) == 1)
      try check(SSL_CTX_add_client_CA(pointer, authority) == 1)
    }
    let required = clientAuth == .required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
    SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | required, nil)
    weir_ctx_set_max_cert_list(pointer, TLSServerContext.maximumClientCertificateBytes)
  }

  private static func readAuthorities(_ pem: [UInt8]) throws(TLSProblem) -> [OpaquePointer] {
    do {
      return try PEM.certificates(pem)
    } catch {
      switch error {
      case .notPEM: throw .clientCANotPEM
      case .empty: throw .clientCAEmpty
      case .damaged(let detail): throw .clientCADamaged(detail: detail)
      case .encrypted: throw .clientCADamaged(detail: "it is encrypted")
      }
    }
  }

  private func check(_ succeeded: Bool) throws(TLSProblem) {
    guard succeeded else { throw .internalFailure(detail: OpenSSLError.take().text) }
  }
}
