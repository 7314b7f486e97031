import WeirHTTP
import WeirIO

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
