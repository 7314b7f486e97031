package import WeirCurl
package import WeirHTTP1
package import WeirIO

/// The two engines of a transport behind one interface: each request goes by the one that ``EngineRules`` names.
/// Confined to the loop.
package final class Engines {
  package let libcurl: TransferEngine
  /// Nil if no request may go by it.
  package let own: HTTP1Engine?
  private let rules: EngineRules
  private let dialler: Dialler

  package init(
    loop: EventLoop, options: TransportOptions, observer: (any TransferEngineObserver)?, workers: WorkerPool? = nil
  ) throws(TransferError) {
    libcurl = try TransferEngine(loop: loop, options: options, observer: observer, workers: workers)
    rules = EngineRules(options)
    dialler = Dialler(libcurl)
    own = rules.usesOwn ? HTTP1Engine(options: options, dialler: dialler) : nil
    libcurl.leavesHTTP1 = rules.isOwnOnceKnown
  }

  /// Opens a connection for the request, and sends nothing on it.
  package func dial(_ spec: TransferSpec, receiver: any DialReceiver) -> Dial {
    dialler.dial(spec, receiver: receiver)
  }

  /// Starts a transfer. Before this call has returned its delegate hears at most that the request leaves, which
  /// ``TransferDelegate/transferHasSentBody(_:)`` says of one through a proxy.
  package func start(
    _ spec: consuming TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate
  ) -> any TransferHandle {
    // libcurl knows connections that are authenticated.
    if let own, spec.opensTunnel || !headers.authenticatesConnection, let place = own.place(of: spec),
      rules.isOwn(
        isSecure: place.isSecure, through: place.proxy,
        spec.needsTunnel || isJudgedByLookup(spec, place) ? .http1_1 : spec.rules?.httpVersion,
        speaksHTTP1: libcurl.speaksHTTP1(spec))
    {
      return own.start(spec, at: place, headers: headers, delegate: delegate)
    }
    return libcurl.start(spec, headers: headers, delegate: delegate)
  }

  /// Whether names are looked up before a proxy is asked to connect, which libcurl does not do.
  private func isJudgedByLookup(_ spec: TransferSpec, _ place: RequestPlace) -> Bool {
    guard spec.addressPolicy != nil, let proxy = place.proxy, !proxy.resolvesNames else { return false }
    return (spec.rules?.httpVersion ?? libcurl.options.httpVersion) == .automatic
  }

  /// Closes the idle connections to an endpoint that is gone. libcurl does not close single idle connections; theirs end
  /// with their idle lifetime.
  package func closeIdleConnections(to endpoint: TransferEndpoint) { own?.closeIdleConnections(to: endpoint) }

  /// Closes the idle connections to origins that are reached by their own hosts and ports.
  ///
  /// - Parameter names: Such as `https://host:8443/`: without the scheme's own port.
  package func closeIdleConnections(toOrigins names: Set<String>) { own?.closeIdleConnections(toOrigins: names) }

  /// Hands on so many bytes of a body at a time from now on, at most. libcurl hands on 16 KiB at most anyway
  /// (CURL_MAX_WRITE_SIZE).
  package func limitPieces(to bytes: Int) { own?.limitPieces(to: bytes) }

  /// Fails all transfers and closes all connections. Delegates hear the end by the end of this turn.
  package func close() {
    // Our own engine's connections may live in libcurl's handles, so it closes libcurl's engine behind them.
    if let own { return own.close() }
    libcurl.close()
    libcurl.loop.atEndOfTurn { [dialler] in dialler.close() }
  }
}

/// Decides which engine runs a request: our own, which speaks HTTP/1.1, or libcurl's. ARCHITECTURE.md has the table.
struct EngineRules {
  /// Whether our own engine runs requests on plain connections, and on those with TLS to a server or to a proxy.
  private let runsPlain: Bool
  private let runsSecure: Bool
  private let version: HTTPVersionChoice

  init(_ options: TransportOptions) {
    runsPlain = options.http1Engine == .own
    runsSecure = runsPlain && CurlLibrary.hasKnownTLS
    version = options.httpVersion
  }

  /// Whether any request may go by our own engine: a request may have a choice of versions of its own.
  var usesOwn: Bool { runsPlain }

  /// Whether libcurl's connections of an origin that had the choice and answered by HTTP/1.1 are of no more use.
  var isOwnOnceKnown: Bool { runsSecure }

  /// Whether our own engine may run a request of this scheme.
  ///
  /// - Parameters:
  ///   - proxy: The one on the request's way.
  ///   - choice: The request's own choice of versions; nil for the transport's.
  ///   - speaksHTTP1: Whether the origin has lately answered by HTTP/1.1.
  func isOwn(
    isSecure: Bool, through proxy: TransferProxy? = nil, _ choice: HTTPVersionChoice?,
    speaksHTTP1: @autoclosure () -> Bool
  ) -> Bool {
    let version = choice ?? version
    if proxy?.kind == .https, !runsSecure { return false }
    guard isSecure else { return runsPlain && version != .http2PriorKnowledge }
    guard runsSecure else { return false }
    return switch version {
    case .http1_1: true
    // The origin may prefer HTTP/2.
    case .automatic: !CurlLibrary.hasReliableHTTP2 || speaksHTTP1()
    case .http2, .http2PriorKnowledge: false
    }
  }
}
