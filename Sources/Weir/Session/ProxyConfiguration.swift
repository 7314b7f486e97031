/// The proxy through which a session connects.
///
/// Requests for `http` URLs go to an HTTP proxy as they are, with the whole URL in the request line (RFC 9112 section
/// 3.2.2), on connections that all origins share. For `https` URLs it makes a tunnel (`CONNECT`).
///
/// A credential answers the challenges of an HTTP proxy, by Basic or Digest; it is not sent before a challenge. A SOCKS
/// proxy gets it at once (RFC 1929).
public enum ProxyConfiguration: Sendable {
  /// Connect directly, whatever the environment says.
  case none
  /// The proxy that the environment of the process names, read once, as curl reads it: `http_proxy` (in small letters
  /// alone), `https_proxy`, and `all_proxy` for both.
  ///
  /// The value is a URL, such as `http://user:password@proxy.example:3128`, of the scheme `http`, `https`, `socks5` (names
  /// are looked up here) or `socks5h` (by the proxy). Its credential goes out with each request and tunnel. `no_proxy`
  /// lists hosts without a proxy: names, which stand for all names below them too, addresses and networks
  /// (`192.0.2.0/24`), perhaps with a port; `*` is every host. A value that can't be used fails all requests.
  case environment
  /// An HTTP proxy.
  case http(host: String, port: Int, credential: URLCredential? = nil)
  /// An HTTP proxy to which connections are made by TLS. `tls` is the trust in the proxy; its
  /// ``TLSConfiguration/serverName`` has no effect.
  case https(host: String, port: Int, credential: URLCredential? = nil, tls: TLSConfiguration = TLSConfiguration())
  /// A SOCKS 5 proxy that looks names up itself.
  case socks5(host: String, port: Int, credential: URLCredential? = nil)
  /// A SOCKS 5 proxy that gets addresses: names are looked up here, and ``SessionConfiguration/destinationPolicy`` judges
  /// what they resolve to.
  case socks5WithLocalLookup(host: String, port: Int, credential: URLCredential? = nil)
}

extension ProxyConfiguration {
  /// The credential for the proxy's challenges; nil for none.
  var credential: URLCredential? {
    switch self {
    case .none, .environment: nil
    case .http(_, _, let credential), .https(_, _, let credential, _), .socks5(_, _, let credential),
      .socks5WithLocalLookup(_, _, let credential):
      credential
    }
  }
}

extension ProxyConfiguration: CustomStringConvertible, CustomReflectable {
  /// The kind, the host, the port and the credential's user.
  public var description: String {
    switch self {
    case .none: "none"
    case .environment: "environment"
    case .http(let host, let port, let credential): Self.text("http", host, port, credential)
    case .https(let host, let port, let credential, _): Self.text("https", host, port, credential)
    case .socks5(let host, let port, let credential): Self.text("socks5", host, port, credential)
    case .socks5WithLocalLookup(let host, let port, let credential):
      Self.text("socks5WithLocalLookup", host, port, credential)
    }
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }

  private static func text(_ kind: String, _ host: String, _ port: Int, _ credential: URLCredential?) -> String {
    let credential = credential.map { ", user: \($0.user ?? ""), password: \(Redaction.placeholder)" } ?? ""
    return "\(kind)(host: \(host), port: \(port)\(credential))"
  }
}
