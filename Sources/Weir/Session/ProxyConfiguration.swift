public import FoundationNetworking

/// The way out of the network.
public enum ProxyConfiguration: Sendable {
  /// Connect directly, whatever the environment says.
  case none
  /// `http_proxy`, `https_proxy`, `no_proxy` and so on, as libcurl reads them.
  case environment
  case http(host: String, port: Int, credential: URLCredential? = nil)
  /// SOCKS 5; names are resolved by the proxy.
  case socks5(host: String, port: Int, credential: URLCredential? = nil)
}
