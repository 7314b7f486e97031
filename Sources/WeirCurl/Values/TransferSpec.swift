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
