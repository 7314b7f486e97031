import WeirHTTP
import WeirIO

/// One endpoint of a set, as configuration or a lookup gives it.
package struct EndpointSpec: Sendable, Hashable {
  /// `host:port` or `unix:/path`: the identity, by which an endpoint keeps its history.
  package let name: String
  /// A name or an address without brackets; the path of a Unix socket.
  package let host: String
  /// 0 for a Unix socket.
  package let port: Int
  /// The URL, in canonical form, whose host and port are the names in requests and in TLS; nil: the request's own.
  package let url: String?
  /// 1 to 1000.
  package let weight: Int
  /// 0 to 9; an endpoint of a higher number is used only while none of a lower one is available, or by retries once they
  /// have tried those.
  package let priority: Int

  package var isUnixSocket: Bool { name.hasPrefix("unix:") }

  /// Whether no lookup is needed: the host is an address, or there is none.
  package var isAddress: Bool { isUnixSocket || IPAddress(host: host) != nil }

  /// The same endpoint with another weight and priority.
  package func with(weight: Int, priority: Int) -> EndpointSpec {
    EndpointSpec(name: name, host: host, port: port, url: url, weight, priority)
  }

  /// The same endpoint with a URL for the names in requests and in TLS.
  package func named(by url: String) -> EndpointSpec {
    EndpointSpec(name: name, host: host, port: port, url: url, weight, priority)
  }

  /// The range of ``weight``.
  package static let weights = 1...1000
  /// The range of ``priority``.
  package static let priorities = 0...9

  /// Takes an endpoint on TCP. A weight or priority out of range counts as the nearest valid one.
  package init(host: String, port: Int, url: String? = nil, weight: Int = 1, priority: Int = 0) {
    let host = CanonicalHost(host)
    self.init(name: "\(host.inURL):\(port)", host: host.text, port: port, url: url, weight, priority)
  }

  /// Takes an endpoint on a Unix socket.
  package init(unixPath path: String, url: String? = nil, weight: Int = 1, priority: Int = 0) {
    self.init(name: "unix:\(path)", host: path, port: 0, url: url, weight, priority)
  }

  private init(name: String, host: String, port: Int, url: String?, _ weight: Int, _ priority: Int) {
    self.name = name
    self.host = host
    self.port = port
    self.url = url
    self.weight = min(max(weight, Self.weights.lowerBound), Self.weights.upperBound)
    self.priority = min(max(priority, Self.priorities.lowerBound), Self.priorities.upperBound)
  }
}

/// The reason why a text is not an endpoint.
public struct EndpointProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// The defect, and the text to write in its place.
  public let description: String

  package init(description: String) {
    self.description = description
  }
}

extension EndpointSpec {
  /// Reads `10.0.0.7:8443`, `[2001:db8::7]:8443`, `name:8443` or `unix:/path`.
  package init(parsing text: String, weight: Int = 1, priority: Int = 0) throws(EndpointProblem) {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      guard path.hasPrefix("/"), !path.utf8.contains(0), path.utf8.count < 108 else {
        throw EndpointProblem(description: "unix: needs an absolute path of less than 108 bytes")
      }
      self.init(unixPath: path, weight: weight, priority: priority)
      return
    }
    if text.contains("/") {
      throw EndpointProblem(description: "write host:port, without scheme and path")
    }
    let (host, port) = try Self.hostAndPort(text)
    self.init(host: host, port: port, weight: weight, priority: priority)
  }

  private static func hostAndPort(_ text: String) throws(EndpointProblem) -> (host: String, port: Int) {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")), text.utf8.last != UInt8(ascii: "]") else {
      throw EndpointProblem(description: "the port is missing; write host:port")
    }
    let digits = text[colon...].dropFirst()
    guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy(\.isDigit), let port = Int(digits),
      (1...65535).contains(port)
    else { throw EndpointProblem(description: "the port must be 1 to 65535") }
    let host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      guard host.contains(":"), IPAddress(host: String(host.dropFirst().dropLast())) != nil else {
        throw EndpointProblem(description: "what is in brackets must be an IPv6 address")
      }
    } else if host.contains(":") {
      throw EndpointProblem(description: "an IPv6 address needs brackets, as in [2001:db8::7]:8443")
    } else if !HostSyntax.isName(host.utf8) {
      throw EndpointProblem(description: "the host must be a name or an address")
    }
    return (String(host), port)
  }
}
