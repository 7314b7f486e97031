import CLinux
import Foundation
import Glibc
import WeirHTTP
import WeirIO
import WeirTransport

/// The target of a route's requests: an origin, or an entry of `upstreams`, whose name stands for the host; and the base
/// path that is put before their paths.
package struct Upstream: Sendable, Hashable {
  package enum Scheme: String, Sendable, CaseIterable {
    case http
    case https

    package var defaultPort: Int { self == .http ? 80 : 443 }
  }

  package let scheme: Scheme
  /// The host in canonical form, with the dot that may end a name; an IPv6 address is in brackets.
  package let host: String
  package let port: Int
  /// The base path. It is empty, or begins with a slash and ends with none.
  package let basePath: String

  /// The value of the Host field (RFC 9110 §7.2), without the scheme's default port.
  package var authority: String { Self.authority(host, port, of: scheme) }

  /// The origin's URL, `http://host:port/`.
  package let origin: String
  /// Whether it is an entry of `upstreams`, which has endpoints of its own.
  package let isNamed: Bool

  /// Takes an entry of `upstreams`.
  ///
  /// - Parameters:
  ///   - port: Only for labels; nil for the scheme's.
  ///   - basePath: Empty, or without a slash at its end.
  package init(named name: String, scheme: Scheme, port: Int? = nil, basePath: String = "") {
    self.scheme = scheme
    self.port = port ?? scheme.defaultPort
    self.basePath = basePath
    host = name
    isNamed = true
    origin = "\(scheme.rawValue)://\(Self.authority(name, self.port, of: scheme))/"
  }

  /// The target of a request with the base path, which it lacks.
  func target(of rest: String) -> String {
    if rest == "*" { return rest }
    if basePath.isEmpty { return rest.hasPrefix("/") ? rest : "/" + rest }
    return basePath + rest
  }

  /// The authority of a destination, as ``authority`` spells it.
  static func authority(of destination: Destination) -> String {
    let host = CanonicalHost(destination.host).inURL
    return authority(host, destination.port, of: Scheme(rawValue: destination.scheme) ?? .http)
  }

  /// The destination of the requests, whose state all routes to it share.
  var destination: Destination { Destination(scheme: scheme.rawValue, host: host, port: port) }

  /// Reads `http://host[:port][/base]`, and nothing that a URL parser would have to guess.
  package init(parsing text: String) throws(UpstreamProblem) {
    guard let separator = text.firstRange(of: "://") else { throw UpstreamProblem("begin with http:// or https://") }
    guard let scheme = Scheme(rawValue: text[..<separator.lowerBound].lowercased()) else {
      throw UpstreamProblem("the scheme must be http or https")
    }
    let rest = text[separator.upperBound...]
    if rest.contains("?") { throw UpstreamProblem("must have no query; requests bring their own") }
    if rest.contains("#") { throw UpstreamProblem("must have no fragment; those are never sent") }
    let authority = rest.prefix { $0 != "/" }
    guard !authority.contains("@") else { throw UpstreamProblem("must have no user name or password") }
    let (host, port) = try Self.hostAndPort(authority, of: scheme)
    basePath = try Self.basePath(rest[authority.endIndex...])
    let text = "\(scheme.rawValue)://\(Self.authority(host, port, of: scheme))/"
    guard URL(string: text) != nil else { throw UpstreamProblem("\(quoted(host)) is not a host name") }
    (self.scheme, self.host, self.port, self.origin) = (scheme, host, port, text)
    isNamed = false
  }

  static func authority(_ host: String, _ port: Int, of scheme: Scheme) -> String {
    port == scheme.defaultPort ? host : "\(host):\(port)"
  }

  private static func hostAndPort(
    _ authority: Substring, of scheme: Scheme
  ) throws(UpstreamProblem) -> (host: String, port: Int) {
    let host: Substring
    if authority.first == "[" {
      guard let bracket = authority.firstIndex(of: "]") else { throw UpstreamProblem("\"[\" needs a \"]\"") }
      host = authority[...bracket]
      guard isIPv6Address(host.dropFirst().dropLast()) else {
        throw UpstreamProblem("\(quoted(String(host))) is not an IPv6 address")
      }
    } else {
      host = authority.prefix { $0 != ":" }
      guard !host.isEmpty else { throw UpstreamProblem("the host is missing") }
      guard HostSyntax.isName(host.utf8) else { throw UpstreamProblem("\(quoted(String(host))) is not a host name") }
    }
    let rest = authority[host.endIndex...]
    let spelled = CanonicalHost(host).inURL
    guard !rest.isEmpty else { return (spelled, scheme.defaultPort) }
    guard rest.first == ":", rest.utf8.count <= 6, rest.dropFirst().utf8.allSatisfy(\.isDigit),
      let port = Int(rest.dropFirst()), (1...65535).contains(port)
    else { throw UpstreamProblem("the port must be 1 to 65535") }
    return (spelled, port)
  }

  /// Reads a base path; an empty one and `/` are none.
  static func basePath(_ path: Substring) throws(UpstreamProblem) -> String {
    var path = path
    while path.last == "/" { path.removeLast() }
    if let problem = PathPrefix.problem(path.isEmpty ? "/" : String(path)) {
      throw UpstreamProblem("its path \(problem)")
    }
    return String(path)
  }

  static func isIPv6Address(_ text: Substring) -> Bool {
    var address = in6_addr()
    return !text.utf8.contains(0) && inet_pton(AF_INET6, String(text), &address) == 1
  }
}

/// The reason why a text is not an upstream.
package struct UpstreamProblem: Error, Hashable, Sendable {
  package let message: String

  init(_ message: String) {
    self.message = message
  }
}
