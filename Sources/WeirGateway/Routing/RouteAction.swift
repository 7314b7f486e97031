/// The way in which a route's requests are answered.
package enum RouteAction: Sendable, Equatable {
  /// They are forwarded.
  case upstream(Upstream)
  /// They are forwarded, each to one of several upstreams.
  case split(UpstreamSplit)
  /// They are answered with another location of what they ask for.
  case redirect(RouteRedirect)
  /// They are answered with a fixed response.
  case respond(RouteResponse)
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

  package init() {}
}

package struct RouteResponse: Sendable, Equatable {
  package var status: Int
  package var body = ""
  /// The type of the body, if there is one.
  package var contentType = "text/plain; charset=utf-8"

  static let maximumBody = 64 << 10

  package init(status: Int) {
    self.status = status
  }
}
