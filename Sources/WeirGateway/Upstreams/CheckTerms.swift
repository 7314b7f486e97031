import Weir
import WeirCurl
import WeirHTTP
import WeirTransport

/// The parts that all checks of one upstream have in common. Confined to the control loop, as its header fields are.
final class CheckTerms {
  let upstream: NamedUpstream
  let check: EndpointCheck
  let headers: PreparedHeaders
  private let spec: TransferSpec

  /// Nil for an upstream without checks.
  init?(_ upstream: NamedUpstream) {
    guard let check = upstream.check else { return nil }
    self.upstream = upstream
    self.check = check
    var spec = TransferSpec(url: upstream.target.origin)
    spec.target = check.path
    spec.method = check.method
    // A request without a body says so, unless its method has none by nature (RFC 9110 §8.6).
    spec.body = check.method == "GET" || check.method == "HEAD" ? .none : .bytes([UInt8]())
    spec.trust = upstream.tls?.trust
    spec.addressPolicy = upstream.destinationPolicy.rules
    self.spec = spec
    var block = HeaderBlock()
    if let host = check.host { block.append(name: "Host", value: host) }
    if !check.headers.contains(where: { FieldSyntax.isSameName($0.name, "user-agent") }) {
      block.append(name: "User-Agent", value: "weir/\(WeirInfo.version)")
    }
    for header in check.headers { block.append(name: header.name, value: header.value) }
    headers = PreparedHeaders(block)
  }

  /// Whether checks of the upstream, as a configuration has it now, are the same.
  func holds(for upstream: NamedUpstream) -> Bool {
    check == upstream.check && self.upstream.target == upstream.target && self.upstream.tls == upstream.tls
      && self.upstream.destinationPolicy == upstream.destinationPolicy
  }

  /// The check of one endpoint, as a request. Another port is only where it goes: Host and TLS name the endpoint.
  func spec(of endpoint: Endpoint) -> TransferSpec {
    var spec = spec
    if let url = endpoint.url { spec.url = url }
    spec.endpoint = endpoint.destination
    if let port = check.port, case .host(let host, _) = endpoint.destination.place {
      spec.endpoint = TransferEndpoint(.host(host, port: port))
    }
    return spec
  }
}
