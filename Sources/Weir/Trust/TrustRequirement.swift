/// What a server has to prove before it is sent anything: a value, by which connections are kept apart too.
///
/// It goes before the session's ``TLSConfiguration``, of which only the client certificate and the oldest version count
/// then, and where the requirement leaves them open, the trust roots and pins.
public struct TrustRequirement: Hashable, Sendable {
  /// Whom a certificate must be issued by.
  public enum Roots: Hashable, Sendable {
    /// Those of the session's ``TLSConfiguration/trustRoots``.
    case session
    /// Those, in place of the session's.
    case custom(TLSConfiguration.TrustRoots)
  }

  /// Where the certificate's chain must lead: to each of them, of which no two can be meant. Empty: to the session's.
  public var roots: Set<Roots> = []
  /// Whether the certificate must be the host's.
  public var validatesHost = true
  /// Whether the certificate must lead to a root, and be valid now.
  public var validatesChain = true
  /// One of these must be the server's key; nil: the session's ``TLSConfiguration/pinnedPublicKeys`` are asked.
  public var pinnedPublicKeys: Set<TLSConfiguration.PublicKeyPin>?

  /// The host's certificate, leading to one of the session's roots.
  public init() {}

  /// Nothing at all; only a session with ``TLSConfiguration/allowsInsecureServers`` takes it.
  public static var disabled: TrustRequirement {
    var requirement = TrustRequirement()
    requirement.validatesHost = false
    requirement.validatesChain = false
    return requirement
  }

  /// Whether anybody could pass for the server.
  var isInsecure: Bool { !validatesChain && pinnedPublicKeys == nil }

  /// What fulfils both. As a server shows one key, that is one of those that both have pinned.
  public func combined(with other: TrustRequirement) -> TrustRequirement {
    var both = self
    both.roots.formUnion(other.roots)
    both.validatesHost = validatesHost || other.validatesHost
    both.validatesChain = validatesChain || other.validatesChain
    if let pins = other.pinnedPublicKeys { both.pinnedPublicKeys = pinnedPublicKeys?.intersection(pins) ?? pins }
    return both
  }
}
