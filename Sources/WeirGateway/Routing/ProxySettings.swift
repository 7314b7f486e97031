package import WeirCurl
import WeirIO
import WeirTransport

/// The way to an upstream, or to a token service.
package enum ProxySettings: Sendable, Hashable {
  /// Connections are made directly.
  case off
  /// They lead through the proxy that the environment names for each host, if it names one.
  case environment(ProxyEnvironment)
  case proxy(Proxy)

  /// A proxy as the configuration has it.
  package struct Proxy: Sendable, Hashable {
    package var kind: TransferProxy.Kind
    /// In canonical form; an IPv6 address has no brackets.
    package var host: String
    package var port: Int
    /// For `https` proxies; nil means the system's trust, and no client certificate.
    package var tls: UpstreamTLS?
    /// The name of the credential that the proxy gets; nil for none.
    package var credential: String?

    /// Reads `http://host:port`. No problem repeats a part of the text, which may hold a password.
    package init(parsing text: String) throws(UpstreamProblem) {
      guard let separator = text.firstRange(of: "://"),
        let kind = TransferProxy.Kind(rawValue: text[..<separator.lowerBound].lowercased())
      else { throw UpstreamProblem("begin with http://, https://, socks5:// or socks5h://") }
      var rest = text[separator.upperBound...]
      if rest.contains("@") {
        throw UpstreamProblem("must have no user name or password; name an entry of credentials as credential")
      }
      if rest.last == "/" { rest.removeLast() }
      if rest.contains(where: { "/?#".contains($0) }) { throw UpstreamProblem("must end with the port") }
      do throws(EndpointProblem) {
        let place = try EndpointSpec(parsing: String(rest))
        (self.kind, host, port) = (kind, place.host, place.port)
      } catch {
        throw UpstreamProblem(error.description)
      }
    }
  }

  /// The name of the credential of a proxy.
  var credential: String? { if case .proxy(let proxy) = self { proxy.credential } else { nil } }

  /// The transport's form of these settings. Those with equal credentials share connections.
  ///
  /// - Parameter credential: Returns the credential of a name.
  func options(_ credential: (String) -> (any ProxyCredential)? = { _ in nil }) -> ProxyOptions {
    switch self {
    case .off: .none
    case .environment(let environment): .named(by: environment)
    case .proxy(let proxy):
      .proxy(
        TransferProxy(
          proxy.kind, host: proxy.host, port: proxy.port, trust: proxy.tls?.trust,
          credential: proxy.credential.flatMap(credential)))
    }
  }

  /// The name of a proxy that looks names up itself, on the way to any host; nil if there is none.
  var resolver: String? {
    let proxies: [TransferProxy] =
      switch options() {
      case .none: []
      case .named(let environment): environment.proxies
      case .proxy(let proxy): [proxy]
      }
    return proxies.first(where: \.resolvesNames)?.name
  }

  /// The proxy on the way to a host, without its credential; nil for a direct connection.
  func proxy(to host: String, port: Int, isSecure: Bool) -> TransferProxy? {
    options().proxy(to: host[...], port: port, isSecure: isSecure)
  }
}
