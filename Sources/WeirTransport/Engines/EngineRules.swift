import WeirCurl

/// Decides which engine runs a request: our own, which speaks HTTP/1.1, or libcurl's. ARCHITECTURE.md has the table.
struct EngineRules {
  /// Whether our own engine reaches plain origins, and secure ones.
  private let reachesPlain: Bool
  private let reachesSecure: Bool
  private let version: HTTPVersionChoice

  init(_ options: TransportOptions) {
    let reachesOrigin =
      switch options.proxy {
      case .none, .socks5: true
      // A plain request would go to the proxy itself, in another form. libcurl alone knows the environment's proxies.
      case .http, .environment: false
      }
    let reachesByTunnel = if case .http = options.proxy { true } else { reachesOrigin }
    let isOwn = options.http1Engine == .own
    reachesPlain = isOwn && reachesOrigin
    reachesSecure = isOwn && reachesByTunnel && CurlLibrary.hasKnownTLS
    version = options.httpVersion
  }

  /// Whether any request may go by our own engine: a request may have a choice of versions of its own.
  var usesOwn: Bool { reachesPlain || reachesSecure }

  /// Whether libcurl's connections of an origin that had the choice and answered by HTTP/1.1 are of no more use.
  var isOwnOnceKnown: Bool { reachesSecure }

  /// Whether our own engine may run the request, as far as it decides.
  ///
  /// libcurl knows connections that are authenticated.
  func mayBeOwn(_ headers: PreparedHeaders) -> Bool { !headers.authenticatesConnection }

  /// Whether our own engine may run a request of this scheme.
  ///
  /// - Parameters:
  ///   - choice: The request's own choice of versions; nil for the transport's.
  ///   - speaksHTTP1: Whether the origin has lately answered by HTTP/1.1.
  func isOwn(isSecure: Bool, _ choice: HTTPVersionChoice?, speaksHTTP1: @autoclosure () -> Bool) -> Bool {
    let version = choice ?? version
    guard isSecure else { return reachesPlain && version != .http2PriorKnowledge }
    guard reachesSecure else { return false }
    return switch version {
    case .http1_1: true
    // The origin may prefer HTTP/2.
    case .automatic: !CurlLibrary.hasReliableHTTP2 || speaksHTTP1()
    case .http2, .http2PriorKnowledge: false
    }
  }
}
