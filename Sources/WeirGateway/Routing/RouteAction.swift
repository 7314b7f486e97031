import WeirTransport

/// The way in which a route's requests are answered.
package enum RouteAction: Sendable, Equatable {
  /// They are forwarded.
  case upstream(Upstream)
  /// They are forwarded, each to one of several upstreams.
  case split(UpstreamSplit)
  /// They are forwarded to the authority that their absolute target names (RFC 9112 §3.2.2).
  case requested(RequestedUpstream)
  /// They ask for tunnels (RFC 9110 §9.3.6), and get them.
  case connect(ConnectRule)
  /// They are answered with another location of what they ask for.
  case redirect(RouteRedirect)
  /// They are answered with a fixed response.
  case respond(RouteResponse)
}

/// The targets of requests that a route may take (RFC 9112 §3.2).
enum RouteTargets {
  /// All targets but those of CONNECT.
  case all
  /// Those in absolute form, at forward proxies.
  case absolute
  /// Those of CONNECT, at forward proxies.
  case tunnels

  /// Whether a route that takes these takes those of another one too.
  func cover(_ others: RouteTargets) -> Bool { self == others || self == .all && others == .absolute }
}

extension RouteAction {
  var targets: RouteTargets {
    switch self {
    case .requested: .absolute
    case .connect: .tunnels
    case .upstream, .split, .redirect, .respond: .all
    }
  }
}

/// The upstream that each request to a forward proxy names by its target.
package struct RequestedUpstream: Sendable, Equatable {
  /// How it is spoken to; nil for the target's own scheme.
  package var scheme: Upstream.Scheme?
  /// The ports to which requests may go; nil for the scheme's own.
  package var ports: Set<Int>?
}

/// The tunnels of clients that ask for them by CONNECT.
package struct ConnectRule: Sendable, Equatable {
  package var ports: Set<Int> = [443]
  /// Seconds for name lookup and TCP.
  package var connectTimeout = 5.0
  /// Seconds of silence both ways after which a tunnel is closed.
  package var idleTimeout = 600.0
  /// Tunnels at once, of all workers.
  package var limit = 1024
}

/// A redirect (RFC 9110 §15.4). What it doesn't name is the request's own.
package struct RouteRedirect: Sendable, Equatable {
  package enum Path: Sendable, Equatable {
    case unchanged
    case replaced(String)
    /// This prefix takes the place of the one that matched.
    case prefix(String)
  }

  package var status = 308
  package var scheme: Upstream.Scheme?
  package var host: String?
  package var port: Int?
  package var path = Path.unchanged
  package var keepQuery = true

  static let statuses = [301, 302, 303, 307, 308]
}

package struct RouteResponse: Sendable, Equatable {
  package var status: Int
  package var body = ""
  /// The type of the body, if there is one.
  package var contentType = "text/plain; charset=utf-8"

  static let maximumBody = 64 << 10
}

/// Several upstreams of one route, of which each request goes to one.
package struct UpstreamSplit: Sendable, Equatable {
  package struct Part: Sendable, Equatable {
    package var upstream: Upstream
    /// 0 to 1000.
    package var weight: Int

    package init(_ upstream: Upstream, weight: Int) {
      self.upstream = upstream
      self.weight = weight
    }
  }

  /// 2 to 16; one of them at least has a weight.
  package var parts: [Part]
  /// The part of requests that go to the same upstream; nil draws one for each request.
  package var key: RequestKey?

  package init(_ parts: [Part], by key: RequestKey? = nil) {
    self.parts = parts
    self.key = key
  }

  static let counts = 2...16
  static let weights = 0...1000

  /// The index of the part to which all requests with this hash go. It says nothing about the place that the hash has
  /// among an upstream's endpoints.
  func part(ofHash hash: UInt64) -> Int { part(at: EndpointKey.mixed(hash ^ 0x9E37_79B9_7F4A_7C15)) }

  /// The index of the part that stands at a share of all weights.
  ///
  /// - Parameter draw: Any number; all are equally likely.
  func part(at draw: UInt64) -> Int {
    let total = parts.reduce(0) { $0 + UInt64($1.weight) }
    var place = draw.multipliedFullWidth(by: total).high
    for (index, part) in parts.enumerated() {
      if place < UInt64(part.weight) { return index }
      place -= UInt64(part.weight)
    }
    return 0
  }
}

/// The answer in place of the gateway's own when an upstream can't answer.
package struct RouteFallback: Sendable, Equatable {
  package enum Action: Sendable, Equatable {
    case upstream(Upstream)
    case respond(RouteResponse)
  }

  package var action: Action
  /// The statuses of the gateway's own answers that it replaces.
  package var statusCodes: Set<Int> = Self.replaceable

  static let replaceable: Set = [502, 503, 504]
}
