internal import CCurl
import WeirHTTP
internal import WeirIO

extension TransferEngine {
  /// The proxy on the way of a request; nil for a direct connection.
  package func proxy(of spec: TransferSpec) -> TransferProxy? {
    let options = spec.rules?.proxy ?? self.options.proxy
    if case .none = options { return nil }
    if prepared.unixSocketPath != nil || spec.endpoint?.unixSocketPath != nil { return nil }
    if case .proxy(let proxy) = options { return proxy }
    guard let authority = HostName.Authority(ofURL: spec.url) else { return nil }
    return options.proxy(
      to: spec.url[authority.host], port: HostName.port(ofURL: spec.url), isSecure: Scheme(url: spec.url) == .https)
  }
}

/// The facts about the way through a proxy, as far as they are known.
struct TunnelState {
  /// When the last TLS handshake began.
  var handshakeBegan: MonotonicTime?
  /// The number of handshakes that have begun.
  var handshakes = 0
  /// The status line of the proxy's last answer to CONNECT, without the version.
  var reply = ""
}

// The way through a proxy.
extension Transfer {
  /// The most octets that are shown of a proxy's answer.
  private static let longestReply = 200

  /// Whether the request goes to a proxy, which takes it in absolute form.
  var isTakenByProxy: Bool {
    guard let proxy, proxy.takesRequests else { return false }
    return Scheme(url: spec.url) == .http && !spec.needsTunnel
  }

  /// The request target for a proxy that takes the request (RFC 9112 §3.2.2); nil where libcurl sends the right one.
  var absoluteTarget: String? {
    guard isTakenByProxy, spec.target != nil || spec.endpoint != nil,
      let authority = HostName.Authority(ofURL: spec.url)
    else { return nil }
    let target = spec.target ?? String(spec.url[authority.port.upperBound...].prefix { $0 != "#" })
    // A question about the server as a whole has no path then (§3.2.4).
    let path = target == "*" ? "" : target.hasPrefix("/") ? target : "/" + target
    if case .host(let host, let port)? = spec.endpoint?.place { return "http://\(host):\(port)\(path)" }
    return "http://\(spec.url[authority.host.lowerBound..<authority.port.upperBound])\(path)"
  }

  /// The number of TLS handshakes on the way, that with the server included.
  var handshakesToServer: Int {
    (proxy?.kind == .https ? 1 : 0) + (Scheme(url: spec.url) == .https ? 1 : 0)
  }

  /// Whether the bytes of the connection to the server are encrypted twice.
  var isNested: Bool { handshakesToServer == 2 }

  func handshakeBegins() {
    tunnel.handshakes += 1
    tunnel.handshakeBegan = engine.now
  }

  /// Whether the connection leads to the server: the proxy has made its tunnel, or no tunnel is needed.
  var hasTunnel: Bool {
    if clock.ready != nil || proxy == nil { return true }
    guard Scheme(url: spec.url) == .https else { return false }
    return CurlLibrary.usesOpenSSL ? tunnel.handshakes >= handshakesToServer : connectStatus / 100 == 2
  }

  /// When the tunnel was there; nil before.
  var tunnelMade: MonotonicTime? {
    guard proxy != nil, !isTakenByProxy else { return nil }
    return Scheme(url: spec.url) == .https ? (hasTunnel ? tunnel.handshakeBegan : nil) : clock.ready
  }

  /// A line of the proxy's answer to CONNECT.
  func receiveReply(_ line: UnsafeRawBufferPointer) {
    clock.lastProgress = engine.now
    guard line.begins(with: "http/") else { return }
    // More than is shown, as secrets are taken out first.
    let line = line.prefix(8 * Self.longestReply).prefix { !$0.isLineBreak }
    tunnel.reply = String(String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 1).last ?? "")
  }

  /// Why the transfer can't go through its proxy; nil if it can.
  func refusalOfProxy() -> TransferError? {
    guard proxy?.kind == .socks5, spec.addressPolicy != nil, dialled == nil else { return nil }
    let text = "a destination policy and a socks5:// proxy, for which names are looked up here, go with HTTP/1.1 alone"
    return TransferError(.invalidRequest, message: text)
  }

  /// The failure of the way to the server, for a connection that was not there when libcurl gave up; nil if the proxy has no
  /// part in it.
  func proxyFailure(_ error: TransferError) -> TransferError? {
    guard let proxy, !hasTunnel, error.kind == .curl || error.kind == .silence else { return nil }
    if error.kind == .silence {
      return failure(.proxyTimeout, of: proxy, "has made no connection to the server in time", error)
    }
    if connectStatus >= 300 { return refused(connectStatus, by: proxy, error.code) }
    switch error.code {
    case .couldNotResolveHost where proxy.resolvesNames == false: return nil
    case .proxy: return socksFailure(error, of: proxy)
    case .timedOut where connected != nil:
      return failure(.proxyTimeout, of: proxy, "has made no connection to the server in time", error)
    case _ where error.code.isOfHandshake && proxy.kind == .https:
      return failure(.proxyTLS, of: proxy, "", error)
    case .couldNotResolveProxy, .couldNotConnect, .timedOut: return failure(.proxyUnreachable, of: proxy, "", error)
    default: return failure(.proxyUnreachable, of: proxy, "has made no tunnel", error)
    }
  }

  private func failure(
    _ kind: TransferError.Kind, of proxy: TransferProxy, _ fact: String, _ error: TransferError
  ) -> TransferError {
    let text = fact.isEmpty ? ": \(error.message)" : " \(fact): \(error.message)"
    return TransferError(
      kind, code: error.code, message: "the proxy \(proxy.name)\(text)", osErrno: error.osErrno,
      certificateDefect: error.certificateDefect)
  }

  private func refused(_ status: Int, by proxy: TransferProxy, _ code: CurlCode) -> TransferError {
    let reply = tunnel.reply.isEmpty ? String(status) : tunnel.reply
    let credential = proxy.credential ?? proxy.answer.map { BasicProxyCredential($0) }
    let shown = (credential?.redacted(reply) ?? reply).utf8.prefix(Self.longestReply)
    let text = CurlText.sanitized(String(decoding: shown, as: UTF8.self))
    return TransferError(
      status == 407 ? .proxyUnauthorized : .proxyRefused, code: code,
      message: "the proxy \(proxy.name) answered CONNECT with \(text)", proxyStatus: status)
  }

  /// A SOCKS proxy's replies (RFC 1928 §6), with the statuses that say the same.
  private func socksFailure(_ error: TransferError, of proxy: TransferProxy) -> TransferError {
    let code = handle.map { weir_easy_get_long($0.easy, CURLINFO_PROXY_ERROR) } ?? 0
    let status =
      switch CURLproxycode(rawValue: UInt32(truncatingIfNeeded: code)) {
      case CURLPX_REPLY_CONNECTION_REFUSED, CURLPX_REPLY_HOST_UNREACHABLE, CURLPX_REPLY_NETWORK_UNREACHABLE,
        CURLPX_REPLY_TTL_EXPIRED:
        502
      case CURLPX_REPLY_NOT_ALLOWED: 403
      case CURLPX_NO_AUTH, CURLPX_USER_REJECTED, CURLPX_GSSAPI: 407
      case CURLPX_RESOLVE_HOST: 0
      case CURLPX_REPLY_GENERAL_SERVER_FAILURE, CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED,
        CURLPX_REPLY_COMMAND_NOT_SUPPORTED, CURLPX_REPLY_UNASSIGNED:
        500
      default: -1
      }
    if status == 0 { return TransferError(.curl, code: .couldNotResolveHost, message: error.message) }
    if status < 0 { return failure(.proxyUnreachable, of: proxy, "has made no tunnel", error) }
    return TransferError(
      status == 407 ? .proxyUnauthorized : .proxyRefused, code: error.code,
      message: "the proxy \(proxy.name): \(error.message)", proxyStatus: status)
  }

  /// The proxy's status in answer to CONNECT; 0 when there was no CONNECT or no answer.
  var connectStatus: Int { handle.map { weir_easy_get_long($0.easy, CURLINFO_HTTP_CONNECTCODE) } ?? 0 }
}
