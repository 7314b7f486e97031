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
}

extension Engines {
  /// Opens a connection for the request, and sends nothing on it.
  package func dial(_ spec: TransferSpec, receiver: any DialReceiver) -> Dial {
    dialler.dial(spec, receiver: receiver)
  }
}

extension Engines: TransportEngine {
  package func start(
    _ spec: consuming TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate
  ) -> any TransferHandle {
    if let own, rules.mayBeOwn(headers), let place = own.place(of: spec),
      rules.isOwn(
        isSecure: place.isSecure, spec.upgrade == nil ? spec.rules?.httpVersion : .http1_1,
        speaksHTTP1: libcurl.speaksHTTP1(spec))
    {
      return own.start(spec, at: place, headers: headers, delegate: delegate)
    }
    let transfer: Transfer = libcurl.start(spec, headers: headers, delegate: delegate)
    return transfer
  }

  package func closeIdleConnections(to endpoint: TransferEndpoint) { own?.closeIdleConnections(to: endpoint) }

  package func closeIdleConnections(toOrigin authority: String, isSecure: Bool) {
    own?.closeIdleConnections(toOrigin: authority, isSecure: isSecure)
  }

  package func limitPieces(to bytes: Int) { own?.limitPieces(to: bytes) }

  package func close() {
    // Our own engine's connections may live in libcurl's handles, so it closes libcurl's engine behind them.
    if let own { return own.close() }
    libcurl.close()
    libcurl.loop.atEndOfTurn { [dialler] in dialler.close() }
  }
}
