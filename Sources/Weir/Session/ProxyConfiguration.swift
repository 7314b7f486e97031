/// The proxy through which a session connects.
public enum ProxyConfiguration: Sendable {
  /// Connect directly, whatever the environment says.
  case none
  /// The proxy that `http_proxy`, `https_proxy`, `no_proxy` and so on name, as libcurl reads them.
  case environment
  /// An HTTP proxy: `CONNECT` for https, the whole URL in the request line for http (RFC 9112 section 3.2.2). The
  /// credential answers the proxy's challenges, by Basic or Digest; it is not sent before a challenge.
  case http(host: String, port: Int, credential: URLCredential? = nil)
  /// A SOCKS 5 proxy; the proxy resolves names.
  case socks5(host: String, port: Int, credential: URLCredential? = nil)
}

extension ProxyConfiguration: CustomStringConvertible, CustomReflectable {
  /// The kind, the host, the port and the credential's user.
  public var description: String {
    switch self {
    case .none: "none"
    case .environment: "environment"
    case .http(let host, let port, let credential): Self.text("http", host, port, credential)
    case .socks5(let host, let port, let credential): Self.text("socks5", host, port, credential)
    }
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }

  private static func text(_ kind: String, _ host: String, _ port: Int, _ credential: URLCredential?) -> String {
    let credential = credential.map { ", user: \($0.user ?? ""), password: \(Redaction.placeholder)" } ?? ""
    return "\(kind)(host: \(host), port: \(port)\(credential))"
  }
}
