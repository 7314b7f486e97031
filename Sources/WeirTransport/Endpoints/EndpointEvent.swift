/// A change of an endpoint, for logs and metrics.
public struct EndpointEvent: Sendable, Hashable, CustomStringConvertible {
  /// The kinds of changes.
  @nonexhaustive
  public enum Kind: Sendable, Hashable {
    /// No request goes there for so many seconds.
    case ejected(EjectionReason, seconds: Double)
    /// The ejection is over.
    case returned
    /// The gateway's active checks fail.
    case unhealthy
    /// The gateway's active checks succeed again.
    case healthy
  }

  /// The endpoint's name, `host:port` or `unix:/path`.
  public let endpoint: String
  /// The change.
  public let kind: Kind

  package init(endpoint: String, kind: Kind) {
    self.endpoint = endpoint
    self.kind = kind
  }

  public var description: String {
    switch kind {
    case .ejected(let reason, let seconds):
      "\(endpoint) is left out for \((seconds * 10).rounded() / 10) s (\(reason.rawValue))"
    case .returned: "\(endpoint) is back"
    case .unhealthy: "\(endpoint) fails its checks"
    case .healthy: "\(endpoint) passes its checks again"
    }
  }
}

/// Why an endpoint is left out.
public enum EjectionReason: String, Sendable, CaseIterable {
  /// As many failures in a row as are allowed.
  case consecutive
  /// Too large a share of the attempts in the window failed.
  case ratio
}
