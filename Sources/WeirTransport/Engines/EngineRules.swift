import WeirCurl

/// Decides which engine runs a request: our own, which speaks HTTP/1.1, or libcurl's. ARCHITECTURE.md has the table.
struct EngineRules {
  private let plain: Bool
  private let secure: Secure

  private enum Secure {
    case never, always
    /// Once the origin has answered by HTTP/1.1, as it may prefer HTTP/2.
    case onceKnown
  }

  init(_ options: TransportOptions) {
    let reachesOrigin =
      switch options.proxy {
      case .none, .socks5: true
      // A plain request would go to the proxy itself, in another form. libcurl alone knows the environment's proxies.
      case .http, .environment: false
      }
    let reachesByTunnel = if case .http = options.proxy { true } else { reachesOrigin }
    let isOwn = options.http1Engine == .own
    plain = isOwn && reachesOrigin && options.httpVersion != .http2PriorKnowledge
    secure =
      if !isOwn || !reachesByTunnel || !CurlLibrary.hasKnownTLS {
        .never
      } else {
        switch options.httpVersion {
        case .http1_1: .always
        case .automatic: CurlLibrary.hasReliableHTTP2 ? .onceKnown : .always
        case .http2, .http2PriorKnowledge: .never
        }
      }
  }

  /// Whether any request may go by our own engine.
  var usesOwn: Bool { if case .never = secure { plain } else { true } }

  /// Whether libcurl's connections of an origin that answered by HTTP/1.1 are of no more use.
  var isOwnOnceKnown: Bool { if case .onceKnown = secure { true } else { false } }

  /// Whether our own engine may run the request, as far as it decides.
  ///
  /// libcurl answers challenges, and knows connections that are authenticated.
  func mayBeOwn(_ spec: TransferSpec, _ headers: PreparedHeaders) -> Bool {
    spec.credential == nil && !headers.authenticatesConnection
  }

  /// Whether our own engine may run a request of this scheme.
  ///
  /// - Parameter speaksHTTP1: Whether the origin has lately answered by HTTP/1.1.
  func isOwn(isSecure: Bool, speaksHTTP1: @autoclosure () -> Bool) -> Bool {
    guard isSecure else { return plain }
    return switch secure {
    case .never: false
    case .always: true
    case .onceKnown: speaksHTTP1()
    }
  }
}
