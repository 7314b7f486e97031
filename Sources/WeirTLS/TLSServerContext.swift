internal import CTLS
internal import WeirIO

/// The certificates, trust and ticket keys that the connections of a listener share. It never changes: a reload makes
/// another, and connections keep the one that they began with.
///
/// It may be used from all threads. It is unchecked because the compiler can't see into pointers: OpenSSL's object is
/// changed by `init` alone, and OpenSSL guards what it changes itself.
package final class TLSServerContext: @unchecked Sendable {
  /// A certificate as logs and metrics show it.
  package struct CertificateFacts: Sendable, Equatable {
    /// The first DNS name of subjectAltName; without one, the subject's common name; nil without that either.
    package let name: String?
    /// The end of its validity, in seconds since 1970.
    package let notAfter: Int64
  }

  /// The most bytes that a client's certificates may have together.
  static let maximumClientCertificateBytes = 32 << 10

  /// The settings that it was made of, private keys among them.
  package let settings: TLSSettings
  let identities: IdentityTable
  let ticketKeys: TicketKeys
  private let handle: ContextHandle
  private let clock: @Sendable () -> Double

  /// - Parameters:
  ///   - previous: The context that this one replaces. Its drawn ticket keys stay if the clients' authorities are the
  ///     same, so that its tickets are good here. Keys that were given are not taken over.
  ///   - clock: The time in seconds, by which drawn keys change. It must never go backwards.
  package init(
    _ settings: TLSSettings, keysOf previous: TLSServerContext? = nil,
    clock: @escaping @Sendable () -> Double = { Double(MonotonicTime.now.nanoseconds) * 1e-9 }
  ) throws(TLSProblem) {
    if settings.allowedClientNames != nil, !settings.needsCertificates { throw .namesWithoutCertificates }
    self.settings = settings
    self.clock = clock
    identities = try Self.makeIdentities(settings.certificates)
    if let given = settings.ticketKeys {
      ticketKeys = try TicketKeys(given: given)
    } else if let previous, previous.ticketKeys.isDrawn, previous.settings.clientCA == settings.clientCA {
      ticketKeys = previous.ticketKeys
    } else {
      ticketKeys = try TicketKeys(drawnAt: clock())
    }
    handle = try ContextHandle()
    try handle.configure(settings)
  }

  /// The certificates in the order of the settings.
  package var certificates: [CertificateFacts] {
    identities.identities.map { CertificateFacts(name: $0.names.first, notAfter: $0.notAfter) }
  }

  var now: Double { clock() }

  /// A connection's object, which the caller frees and must not keep longer than this context; nil without memory.
  func makeConnection() -> OpaquePointer? { SSL_new(handle.pointer) }

  private static func makeIdentities(_ certificates: [TLSCertificate]) throws(TLSProblem) -> IdentityTable {
    guard !certificates.isEmpty else { throw .noCertificates }
    guard certificates.count <= TLSSettings.maximumCertificates else { throw .tooManyCertificates(certificates.count) }
    let trial = try ContextHandle()
    var identities: [Identity] = []
    for (index, certificate) in certificates.enumerated() {
      let identity = try Identity(certificate, index: index)
      OpenSSLError.clear()
      guard identity.install(inContext: trial.pointer) else {
        throw .certificateRefused(index: index, detail: OpenSSLError.take().text)
      }
      identities.append(identity)
    }
    return IdentityTable(identities)
  }
}

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
    let rule = settings.asksForCertificates ? settings.clientAuth.rawValue : 0
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
    let authorities = try PEMReader.certificates(pem, of: .clientCA)
    defer { authorities.forEach { X509_free($0) } }
    guard let store = SSL_CTX_get_cert_store(pointer) else { throw .internalFailure(detail: "no store") }
    OpenSSLError.clear()
    for authority in authorities {
      // Both calls take a reference of their own. One that is there already is no error.
      try check(X509_STORE_add_cert(store, authority) == 1)
      try check(SSL_CTX_add_client_CA(pointer, authority) == 1)
    }
  }

  private func check(_ succeeded: Bool) throws(TLSProblem) {
    guard succeeded else { throw .internalFailure(detail: OpenSSLError.take().text) }
  }
}

extension TLSSettings.Version {
  /// OpenSSL's number.
  fileprivate var number: CInt { self == .v1_2 ? TLS1_2_VERSION : TLS1_3_VERSION }
}
