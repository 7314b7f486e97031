import WeirHTTP

/// The request of one attempt: one request on one connection. Redirects and retries are decided elsewhere.
package struct TransferSpec: Sendable {
  /// An absolute `http` or `https` URL, already percent-encoded. If its host is an address, it is in canonical form.
  package var url: String
  /// The request target, sent unchanged (RFC 9112 §3.2); nil: the URL's path and query are sent.
  package var target: String?
  package var method: String
  package var body: TransferBody
  /// The longest time in seconds without progress in either direction before the transfer fails; 0 means no limit. The
  /// clock stands still while we hold the transfer back ourselves.
  package var silenceTimeout: Double
  /// The tag of the connections that this transfer opens; handed to the engine's observer.
  package var tag: (any AnyObject & Sendable)?
  /// Trust rules in place of the engine's; connections are never shared between different rules.
  package var trust: TransferTrust?
  /// Whether the body can be sent a second time; if not, no challenge is answered.
  package var canRepeatBody = true
  /// The addresses to which the transfer may connect; nil means any.
  package var addressPolicy: AddressPolicy?
  /// The place to connect to in place of the URL's host and port, which stay the names in the request and in TLS. Nil
  /// means the URL's own.
  package var endpoint: TransferEndpoint?
  /// Settings in place of the transport's; nil means all of the transport's.
  package var rules: TransferRules?
  /// The protocols to which the server may switch, as an Upgrade field lists them (RFC 9110 §7.8); nil for none. After
  /// the response 101 the body of the response is all that the server sends, and bytes for the server are pulled from
  /// the delegate until it says that they end. Only our own engine asks for that; libcurl's sends the request without.
  package var upgrade: String?
  /// Whether the transfer is a tunnel: no request is sent. Once the connection to the URL's host is there, a head with status
  /// 200 says so, and all that follows is as after a switch of protocols. Only our own engine makes tunnels.
  package var opensTunnel = false
  /// Whether requests of other users may follow on the connection. If so, a connection that this transfer authenticated
  /// (NTLM, Negotiate) is not used again.
  package var isForOneOfMany = false

  package init(
    url: String, target: String? = nil, method: String = "GET", body: TransferBody = .none, silenceTimeout: Double = 0,
    tag: (any AnyObject & Sendable)? = nil, trust: TransferTrust? = nil
  ) {
    self.url = CurlURL.canonical(url)
    self.target = target
    self.method = method
    self.body = body
    self.silenceTimeout = silenceTimeout
    self.tag = tag
    self.trust = trust
  }
}

/// The body of an attempt.
package enum TransferBody: Sendable {
  case none
  /// Bytes in memory; rewound by the engine.
  case bytes(any TransferBytes)
  /// A file that holds at least `size` bytes; read off the loop and rewound by the engine.
  case file(path: String, size: Int64)
  /// Bytes that the delegate provides. A nil length is unknown (chunked on HTTP/1.1).
  case pulled(length: Int64?)
}

extension TransferBody {
  /// Nil when the length is unknown.
  package var length: Int64? {
    switch self {
    case .none: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, let size): max(0, size)
    case .pulled(let length): length.map { max(0, $0) }
    }
  }

  /// The most bytes in memory that libcurl gets together with the head.
  static let mostWithHead = 65_536

  /// Whether the body is there at once and so small that it is sent as soon as the head is.
  package var leavesWithHead: Bool {
    switch self {
    case .none: true
    case .bytes(let bytes): bytes.count <= Self.mostWithHead
    case .file(_, let size): size <= 0
    case .pulled(let length): length == 0
    }
  }
}

extension TransferSpec {
  /// Whether the whole request is sent as soon as its head is. HEAD requests are sent without their body.
  package var leavesAtOnce: Bool { body.leavesWithHead || method == "HEAD" }
}

/// Bytes that can be read from any position, again and again.
package protocol TransferBytes: Sendable {
  var count: Int { get }
  /// Copies as many bytes from `offset` on as exist and fit, and returns their number. Called on the loop.
  func copyBytes(from offset: Int, to buffer: UnsafeMutableRawBufferPointer) -> Int
}

extension [UInt8]: TransferBytes {
  package func copyBytes(from offset: Int, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    withUnsafeBytes { bytes in
      let length = Swift.min(buffer.count, bytes.count - offset)
      guard offset >= 0, length > 0 else { return 0 }
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + length)]))
      return length
    }
  }
}

/// Trust rules for single transfers. It is a class, so that a spec without them stays small.
package final class TransferTrust: Sendable, Hashable {
  package let tls: TLSOptions
  /// The name that replaces the URL's host in the TLS handshake, and that the certificate must have.
  package let serverName: String?
  /// The pins in libcurl's format.
  let pins: String?

  package init(_ tls: TLSOptions, serverName: String? = nil) {
    self.tls = tls
    self.serverName = serverName
    pins =
      tls.pinnedPublicKeys.isEmpty
      ? nil : tls.pinnedPublicKeys.map { "sha256//\($0)" }.joined(separator: ";")
  }

  package static func == (left: TransferTrust, right: TransferTrust) -> Bool {
    left === right || left.serverName == right.serverName && left.tls == right.tls
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(tls)
    hasher.combine(serverName)
  }
}

/// A place to connect to in place of a URL's host and port. Connections are shared only between requests to equal places.
///
/// It is a class, so that a spec without one stays small.
package final class TransferEndpoint: Sendable, Hashable {
  package enum Place: Hashable, Sendable {
    /// A name that libcurl looks up, or an address, which is in brackets if it is an IPv6 one.
    case host(String, port: Int)
    /// The path of a Unix socket.
    case unixSocket(String)
  }

  package let place: Place
  /// CURLOPT_CONNECT_TO's `host:port:host:port` for every host and port; nil for a Unix socket.
  let connectTo: String?

  package init(_ place: Place) {
    switch place {
    case .host(let host, let port):
      let host = HostName.bracketed(host)
      self.place = .host(host, port: port)
      connectTo = "::\(host):\(port)"
    case .unixSocket:
      self.place = place
      connectTo = nil
    }
  }

  /// The host to connect to; nil for a Unix socket.
  var host: String? {
    if case .host(let host, _) = place { host } else { nil }
  }

  /// The port to connect to; nil for a Unix socket.
  var port: Int? {
    if case .host(_, let port) = place { port } else { nil }
  }

  package var isUnixSocket: Bool { unixSocketPath != nil }

  var unixSocketPath: String? {
    if case .unixSocket(let path) = place { path } else { nil }
  }

  package static func == (left: TransferEndpoint, right: TransferEndpoint) -> Bool {
    left === right || left.place == right.place
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(place) }
}

/// Settings of a transfer and of its connection in place of the transport's; nil means the transport's own.
///
/// It is a class, so that a spec without one stays small.
package final class TransferRules: Sendable {
  /// Seconds for name lookup, TCP and TLS together.
  package let connectTimeout: Double?
  /// Seconds after which an idle connection is closed.
  package let idleTimeout: Double?
  /// Seconds since a connection was opened, after which it is not used again. A request on it is never cut.
  package let maximumAge: Double?
  package let httpVersion: HTTPVersionChoice?
  /// The way to the server.
  package let proxy: ProxyOptions?
  /// The connect timeout in libcurl's terms.
  let connectMilliseconds: Int?

  package init(
    connectTimeout: Double? = nil, idleTimeout: Double? = nil, maximumAge: Double? = nil,
    httpVersion: HTTPVersionChoice? = nil, proxy: ProxyOptions? = nil
  ) {
    self.proxy = proxy
    self.connectTimeout = connectTimeout
    self.idleTimeout = idleTimeout
    self.maximumAge = maximumAge
    self.httpVersion = httpVersion
    connectMilliseconds = connectTimeout.map(PreparedOptions.milliseconds(ofConnectTimeout:))
  }
}

/// The parts of a request line that may be sent.
package enum RequestRules {
  /// Why the request can't be sent; nil if it can.
  package static func defect(of spec: TransferSpec) -> String? {
    defect(ofMethod: spec.method) ?? spec.target.flatMap(defect(ofTarget:))
  }

  /// Checks the method (RFC 9110 §5.6.2). A blank or a line end in it would change the request's shape. CONNECT in any
  /// case is refused, as servers that ignore the case would open a tunnel on a connection that goes back to the pool.
  package static func defect(ofMethod method: String) -> String? {
    if method == "GET" || method == "POST" { return nil }
    guard FieldSyntax.isToken(method) else { return "the method is not a token (RFC 9110 §5.6.2)" }
    return FieldSyntax.isSameName(method, "connect") ? "the method CONNECT opens a tunnel and is not supported" : nil
  }

  package static func defect(ofTarget target: String) -> String? {
    guard target.isEmpty || holdsBlank(target) else { return nil }
    return "the request target is empty or holds blanks"
  }

  /// Whether it holds a blank or a control character. All octets are looked at, which takes fewer instructions than to
  /// end with the first.
  private static func holdsBlank(_ target: String) -> Bool {
    let found = target.utf8.withContiguousStorageIfAvailable { octets in
      octets.reduce(UInt8(0)) { $0 | ($1 <= 32 ? 1 : 0) | ($1 == 127 ? 1 : 0) } != 0
    }
    return found ?? target.utf8.contains { $0 <= 32 || $0 == 127 }
  }
}
