/// The proof that a server must give before anything is sent to it; a value. Requests with different requirements don't
/// share connections.
///
/// It takes precedence over the session's ``TLSConfiguration``. Of that, only the client certificate and the oldest
/// version still count, and the trust roots and pins if the requirement leaves them open.
public struct TrustRequirement: Hashable, Sendable {
  /// The certificate authorities that a certificate must lead to.
  public enum Roots: Hashable, Sendable {
    /// The session's ``TLSConfiguration/trustRoots``.
    case session
    /// These roots, in place of the session's.
    case custom(TLSConfiguration.TrustRoots)
  }

  /// The roots that the certificate's chain must lead to; empty means the session's. Two different sets can't be
  /// required at once, so that fails the request.
  public var roots: Set<Roots> = []
  /// Whether the certificate must be for the host.
  public var validatesHost = true
  /// Whether the certificate must lead to a root and be valid now.
  public var validatesChain = true
  /// The keys of which the server must have one; nil means that the session's ``TLSConfiguration/pinnedPublicKeys``
  /// apply.
  public var pinnedPublicKeys: Set<TLSConfiguration.PublicKeyPin>?

  /// Requires a certificate for the host that leads to one of the session's roots.
  public init() {}

  /// Requires nothing; only a session with ``TLSConfiguration/allowsInsecureServers`` accepts it.
  public static var disabled: TrustRequirement {
    var requirement = TrustRequirement()
    requirement.validatesHost = false
    requirement.validatesChain = false
    return requirement
  }

  /// Whether anyone could pose as the server.
  var isInsecure: Bool { !validatesChain && pinnedPublicKeys == nil }

  /// The requirement that demands both. A server shows one key, so it must be one that both have pinned.
  public func combined(with other: TrustRequirement) -> TrustRequirement {
    var both = self
    both.roots.formUnion(other.roots)
    both.validatesHost = validatesHost || other.validatesHost
    both.validatesChain = validatesChain || other.validatesChain
    if let pins = other.pinnedPublicKeys { both.pinnedPublicKeys = pinnedPublicKeys?.intersection(pins) ?? pins }
    return both
  }
}
