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
    try setProtocol(settings)
    try check(SSL_CTX_set_max_early_data(pointer, 0) == 1)
    try check(SSL_CTX_set_recv_max_early_data(pointer, 0) == 1)
    try check(weir_ctx_set_ticket_callback(pointer, sealTicket))
    try check(SSL_CTX_set_session_ticket_cb(pointer, nil, judgeTicket, nil) == 1)
    SSL_CTX_set_client_hello_cb(pointer, noteHello, nil)
    weir_ctx_set_name_callback(pointer, chooseByName)
    SSL_CTX_set_cert_cb(pointer, installIdentities, nil)
    SSL_CTX_set_alpn_select_cb(pointer, chooseProtocol, nil)
    try setSessionContext(settings)
    if settings.asksForCertificates { try judgeClients(settings) }
  }

  private func setProtocol(_ settings: TLSSettings) throws(TLSProblem) {
    let oldest = settings.oldestVersion, newest = settings.maximumVersion
    if settings.minimumVersion.number > newest.number { throw .versionsReversed }
    if oldest.number > newest.number { throw .noCipherSuiteForVersion }
    try check(weir_ctx_set_min_version(pointer, oldest.number))
    try check(weir_ctx_set_max_version(pointer, newest.number))
    if settings.prefersServerOrder { SSL_CTX_set_options(pointer, weir_op_server_preference) }
    for version in [TLSSettings.Version.v1_2, .v1_3] {
      let names = settings.cipherSuites.filter { $0.version == version }.map(\.openSSLName).joined(separator: ":")
      guard !names.isEmpty else { continue }
      try check((version == .v1_2 ? SSL_CTX_set_cipher_list : SSL_CTX_set_ciphersuites)(pointer, names) == 1)
    }
    guard !settings.groups.isEmpty else { return }
    // The list would be refused as a whole.
    for group in settings.groups where !weir_ctx_set_groups(pointer, group.openSSLName) {
      OpenSSLError.clear()
      throw .unknownGroup(group)
    }
    try check(weir_ctx_set_groups(pointer, settings.groups.map(\.openSSLName).joined(separator: ":")))
  }

  /// A ticket is good only where clients have to show the same: OpenSSL compares this value with the ticket's, and does
  /// not check a resumed session's client certificate again, nor whether its cipher suite is still among the server's.
  private func setSessionContext(_ settings: TLSSettings) throws(TLSProblem) {
    let rule: UInt8 =
      switch settings.clientAuth {
      case _ where !settings.asksForCertificates: 0
      case .optional: 1
      case .required: 2
      case .optionalUnverified: 3
      case .requiredUnverified: 4
      }
    let terms = (settings.allowedClientNames ?? []).sorted() + settings.cipherSuites.map(\.rawValue)
    let text = [rule] + (settings.clientCA ?? []) + terms.flatMap { [0] + Array($0.utf8) }
    var digest = [UInt8](repeating: 0, count: Int(SSL_MAX_SID_CTX_LENGTH))
    try check(EVP_Digest(text, text.count, &digest, nil, EVP_sha256(), nil) == 1)
    try check(SSL_CTX_set_session_id_context(pointer, digest, UInt32(digest.count)) == 1)
  }

  private func judgeClients(_ settings: TLSSettings) throws(TLSProblem) {
    if settings.verifiesClients, let authorities = settings.clientCA { try trust(authorities) }
    let needed = settings.needsCertificates ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
    SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | needed, nil)
    SSL_CTX_set_cert_verify_callback(pointer, judgeCertificate, nil)
    weir_ctx_set_max_cert_list(pointer, TLSServerContext.maximumClientCertificateBytes)
  }

  private func trust(_ pem: [UInt8]) throws(TLSProblem) {
    let authorities = try Self.readAuthorities(pem)
    defer { authorities.forEach { X509_free($0) } }
    guard let store = SSL_CTX_get_cert_store(pointer) else { throw .internalFailure(detail: "no store") }
    OpenSSLError.clear()
    for authority in authorities {
      // Both calls take a reference of their own. One that is there already is no error.
      try check(X509_STORE_add_cert(store, authority) == 1)
      try check(SSL_CTX_add_client_CA(pointer, authority) == 1)
    }
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

extension TLSSettings.Version {
  /// OpenSSL's number.
  fileprivate var number: CInt {
    switch self {
    case .v1_2: TLS1_2_VERSION
    case .v1_3: TLS1_3_VERSION
    }
  }
}
