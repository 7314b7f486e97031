import WeirCurl
import WeirIO
import WeirTransport

/// Completes the proxies of a file with what they name, and compares them with what goes through them.
struct ConfigurationProxies {
  /// The way of all that has no `proxy` of its own.
  private(set) var standard = ProxySettings.off

  /// - Parameter reader: The value of `proxy` beside `routes`; nil if the file has none.
  init(
    _ standard: ProxySettings, _ reader: ConfigurationReader?, _ credentials: inout ConfigurationCredentials
  ) {
    self.standard = complete(standard, reader, &credentials)
  }

  /// The way that a `proxy` says, with the name of its credential.
  ///
  /// - Parameters:
  ///   - own: Nil if it could not be read.
  ///   - reader: Its value; nil if it is missing.
  func complete(
    _ own: ProxySettings?, _ reader: ConfigurationReader?, _ credentials: inout ConfigurationCredentials
  ) -> ProxySettings {
    guard let reader else { return standard }
    switch own {
    case .off?, nil: return .off
    case .environment(let environment)?:
      if let defect = environment.defect { reader.report(defect) }
      return .environment(environment)
    case .proxy(var proxy)?:
      if let reader = reader.child("credential") {
        proxy.credential = credentials.name(reader)
        credentials.compare(proxy, reader)
      }
      return .proxy(proxy)
    }
  }

  // MARK: Routes and upstreams

  func compare(_ route: Route, to upstream: Upstream, _ given: ConfigurationGiven) {
    let proxy = route.proxy.proxy(to: upstream.host, port: upstream.port, isSecure: upstream.scheme == .https)
    compare(
      [proxy].compactMap(\.self), with: route.destinationPolicy,
      given["upstream"]?.child("proxy") ?? given.fitting("destinationPolicy"))
  }

  func complete(_ entry: inout ReadUpstream, _ credentials: inout ConfigurationCredentials) {
    guard let given = entry.given else { return }
    let own = given["proxy"]
    entry.upstream.proxy = complete(entry.upstream.proxy, own, &credentials)
    if entry.upstream.hasOnlySockets, own == nil { entry.upstream.proxy = .off }
    guard entry.isUsable, !given.isUnfit("proxy") else { return }
    let upstream = entry.upstream, proxies = upstream.proxies
    if case .listed(let endpoints) = upstream.source {
      if case .proxy = upstream.proxy, let own, let socket = endpoints.first(where: \.isUnixSocket) {
        own.report("leads to no Unix socket, as \(socket.name) is one; write off, or give that an entry of its own")
      }
      if let resolver = proxies.first(where: \.resolvesNames), !endpoints.allSatisfy(\.isAddress),
        !endpoints.contains(where: upstream.isLookedUp)
      {
        given["resolve"]?.warn("does nothing: the proxy \(resolver.name) looks all names up itself")
      }
    } else if case .services = upstream.source, let resolver = proxies.first(where: \.resolvesNames) {
      given["srv"]?.report(
        "needs addresses, which the proxy \(resolver.name) looks up itself; socks5:// has names looked up here")
    }
    compare(proxies, with: upstream.destinationPolicy, own ?? given.fitting("destinationPolicy"))
    if let reason = upstream.refusalOfHTTP2(through: proxies) { given.fitting("httpVersion")?.report(reason) }
  }

  private func compare(
    _ proxies: [TransferProxy], with policy: DestinationPolicy, _ reader: ConfigurationReader?
  ) {
    guard policy != .any, let resolver = proxies.first(where: \.resolvesNames) else { return }
    reader?.report(
      "the proxy \(resolver.name) looks names up itself, so that destinationPolicy can't judge their addresses; "
        + "socks5:// has them looked up here")
  }
}

extension NamedUpstream {
  /// Whether no endpoint is on a network.
  fileprivate var hasOnlySockets: Bool {
    if case .listed(let endpoints) = source { endpoints.allSatisfy(\.isUnixSocket) } else { false }
  }

  /// The proxies on the way to endpoints as they are written. The targets of a file are known when it is read.
  fileprivate var proxies: [TransferProxy] {
    switch source {
    case .listed(let endpoints): endpoints.compactMap(proxy(to:))
    case .services(let name): [proxy(to: EndpointSpec(host: name, port: 0))].compactMap(\.self)
    case .file: if case .proxy(let proxy) = self.proxy.options() { [proxy] } else { [] }
    }
  }

  /// Why requests can't go by HTTP/2; nil if they can.
  fileprivate func refusalOfHTTP2(through proxies: [TransferProxy]) -> String? {
    guard [.http2, .http2PriorKnowledge].contains(connection.httpVersion) else { return nil }
    if destinationPolicy != .any, let proxy = proxies.first(where: { !$0.resolvesNames }) {
      return "must be 1.1, as names are looked up here for both destinationPolicy and the proxy \(proxy.name)"
    }
    if target.scheme == .http, let proxy = proxies.first(where: \.takesRequests) {
      return "must be 1.1 for http, as the proxy \(proxy.name) takes the requests itself"
    }
    return nil
  }
}

extension Configuration {
  /// All ways that lead through proxies.
  private var proxies: [ProxySettings] {
    let ofCredentials: [ProxySettings] = credentials.compactMap {
      if case .oauth2(_, _, let proxy, _) = $0.kind { proxy } else { nil }
    }
    let ofTelemetry: [ProxySettings] = telemetry.map { [$0.proxy] } ?? []
    return routes.map(\.proxy) + upstreams.map(\.proxy) + ofTelemetry + ofCredentials
  }

  /// Notes on the proxies that the environment names, if any way leads through them.
  var environmentNotes: [String] {
    for case .environment(let environment) in proxies {
      return environment.summary.map { scheme, proxy in "the environment's proxy for \(scheme):// is \(proxy)" }
    }
    return []
  }
}
