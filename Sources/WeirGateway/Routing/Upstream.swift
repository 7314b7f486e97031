import Glibc
package import Weir
import WeirCurl
import WeirHTTP
import WeirIO

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
    try self.init(scheme, authority: authority, basePath: rest[authority.endIndex...])
  }

  /// Reads `host[:port]`, and a base path behind it.
  init(_ scheme: Scheme, authority: Substring, basePath path: Substring = "") throws(UpstreamProblem) {
    let (host, port) = try Self.hostAndPort(authority, of: scheme)
    basePath = try Self.basePath(path)
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
package struct UpstreamProblem: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// The TLS settings of a route's upstream: how the upstream is verified, and the certificate that the gateway shows. It
/// holds the contents of the files that the configuration names, so that a reload sees whether they have changed.
package struct UpstreamTLS: Sendable, Hashable {
  /// The trusted certificates in PEM; nil means those that the system trusts.
  package var authority: [UInt8]?
  /// The client certificate in PEM, with the intermediate ones.
  package var certificate: [UInt8]?
  /// The client certificate's key in PEM. Only used with a certificate.
  package var key: [UInt8]?
  /// The name sent to the upstream (SNI) and expected in its certificate; nil means the URL's host.
  package var serverName: String?
  package var minimumVersion = TLSConfiguration.Version.tls12
  /// The keys of which the upstream must have one; empty for any.
  package var pins: [TLSConfiguration.PublicKeyPin] = []

  /// The transport's form of these settings, made once for a plan: requests with equal settings share connections.
  var trust: TransferTrust {
    var options = TLSOptions()
    if let authority { options.roots = .pem(authority) }
    if let certificate {
      options.clientCertificate = ClientCertificateOptions(
        format: .pem, certificate: .blob(certificate), key: key.map { .blob($0) })
    }
    options.minimumVersion = minimumVersion == .tls13 ? .tls13 : .tls12
    options.pinnedPublicKeys = pins.map(\.sha256)
    return TransferTrust(options, serverName: serverName)
  }
}

/// Describes which settings are there, but shows no key.
extension UpstreamTLS: CustomStringConvertible, CustomReflectable {
  package var description: String {
    let files = [("authority", authority), ("certificate", certificate), ("key", key)]
    let parts = files.compactMap { name, bytes in bytes.map { "\(name): \($0.count) bytes" } }
    let pinned = pins.isEmpty ? [] : ["pins: \(pins.count)"]
    let name = serverName.map { ["serverName: \($0)"] } ?? []
    return "UpstreamTLS(\((parts + name + pinned + ["minimumVersion: \(minimumVersion)"]).joined(separator: ", ")))"
  }

  package var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .struct) }
}
