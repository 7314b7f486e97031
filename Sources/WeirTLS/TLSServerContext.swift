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
