import WeirIO

/// The proxies through which connections are made.
package enum ProxyOptions: Sendable, Hashable {
  case none
  /// The one that the environment names for each host.
  case named(by: ProxyEnvironment)
  case proxy(TransferProxy)

  /// Those that the environment of this process names.
  package static var environment: Self { .named(by: .process) }

  /// - Parameter credential: Answers the proxy's challenges.
  package static func http(host: String, port: Int, credential: TransferCredential?) -> Self {
    .proxy(TransferProxy(.http, host: host, port: port, answer: credential))
  }

  /// A proxy that looks names up itself.
  package static func socks5(host: String, port: Int, credential: TransferCredential?) -> Self {
    .proxy(TransferProxy(.socks5h, host: host, port: port, answer: credential))
  }

  /// The proxy on the way to a host, which may be in brackets; nil for a direct connection.
  package func proxy(to host: Substring, port: Int, isSecure: Bool) -> TransferProxy? {
    switch self {
    case .none: nil
    case .named(let environment): environment.proxy(to: host, port: port, isSecure: isSecure)
    case .proxy(let proxy): proxy
    }
  }
}

/// A proxy through which connections are made. It is a class, so that rules without one stay small.
package final class TransferProxy: Sendable, Hashable {
  package enum Kind: String, Sendable, CaseIterable {
    /// An HTTP proxy, which makes tunnels, and takes requests for `http` URLs in absolute form (RFC 9112 §3.2.2).
    case http
    /// An HTTP proxy to which connections are made by TLS.
    case https
    /// A SOCKS 5 proxy that gets addresses: names are looked up on this side.
    case socks5
    /// A SOCKS 5 proxy that looks names up itself.
    case socks5h
  }

  package let kind: Kind
  /// In canonical form; an IPv6 address has no brackets.
  package let host: String
  package let port: Int
  /// How an `https` proxy has to prove itself; nil for the system's trust.
  package let trust: TransferTrust?
  /// The credential that goes with each request and tunnel; nil for none.
  package let credential: (any ProxyCredential)?
  /// Answers the challenges of an HTTP proxy; a SOCKS proxy gets it at once.
  package let answer: TransferCredential?

  package init(
    _ kind: Kind, host: String, port: Int, trust: TransferTrust? = nil, credential: (any ProxyCredential)? = nil,
    answer: TransferCredential? = nil
  ) {
    self.kind = kind
    self.host = CanonicalHost(host).text
    self.port = port
    self.trust = trust
    self.credential = credential
    self.answer = answer
  }

  /// Whether names are the proxy's to look up.
  package var resolvesNames: Bool { kind != .socks5 }

  /// Whether it takes requests for `http` URLs itself.
  package var takesRequests: Bool { kind == .http || kind == .https }

  /// Its URL, for messages.
  package var name: String { "\(kind.rawValue)://\(address)" }

  /// CURLOPT_PROXY's text.
  var address: String { "\(HostName.bracketed(host)):\(port)" }

  package static func == (left: TransferProxy, right: TransferProxy) -> Bool {
    left === right
      || left.kind == right.kind && left.host == right.host && left.port == right.port && left.trust == right.trust
        && left.credential === right.credential && left.answer == right.answer
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(host)
    hasher.combine(port)
  }
}

/// Shows neither credential, which must not appear in logs.
extension TransferProxy: CustomStringConvertible, CustomReflectable {
  package var description: String { name }

  package var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}

/// A credential for a proxy, whose value may change.
package protocol ProxyCredential: AnyObject, Sendable {
  /// The present value of Proxy-Authorization (RFC 9110 §11.7.1); nil if there is none now.
  var authorization: [UInt8]? { get }
  /// The credential for a SOCKS proxy (RFC 1929); nil for one of another kind.
  var userAndPassword: TransferCredential? { get }
  /// The text of a proxy without the secrets of this credential.
  func redacted(_ text: String) -> String
}

/// A user and a password, which go out with each request and tunnel (RFC 7617).
final class BasicProxyCredential: ProxyCredential {
  let authorization: [UInt8]?
  let userAndPassword: TransferCredential?

  init(_ credential: TransferCredential) {
    userAndPassword = credential
    authorization = Array("Basic \(Self.base64("\(credential.user):\(credential.password)".utf8))".utf8)
  }

  func redacted(_ text: String) -> String {
    // The pair's padding may be left out.
    let pair = String(decoding: authorization ?? [], as: UTF8.self).dropFirst("Basic ".count).prefix { $0 != "=" }
    return [userAndPassword?.password ?? "", String(pair)].reduce(text) { text, secret in
      secret.utf8.count >= 8 ? text.replacing(secret, with: "<redacted>") : text
    }
  }

  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// RFC 4648 §4.
  static func base64(_ octets: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    var rest = octets[...]
    while !rest.isEmpty {
      let group = rest.prefix(3)
      rest = rest.dropFirst(3)
      let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for index in 0..<4 {
        text.append(index <= group.count ? digits[Int(bits >> UInt32(18 - 6 * index) & 63)] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension TransferError {
  /// A proxy's challenge to a request of a gateway, which is not for the gateway's users.
  package static func unauthorized(by proxy: TransferProxy) -> TransferError {
    let text = proxy.credential == nil ? "wants a credential" : "refuses the credential"
    return TransferError(.proxyUnauthorized, message: "the proxy \(proxy.name) \(text) (407)", proxyStatus: 407)
  }
}

extension TransferSpec {
  /// Whether the connection has to lead to the server itself, and not only to a proxy that takes the request.
  package var needsTunnel: Bool { upgrade != nil || opensTunnel }
}
