internal import CLinux
internal import Glibc

extension SocketAddress {
  /// Reads `127.0.0.1:8080`, `[::1]:8080`, `:8080` (all addresses), `localhost:8080` and `unix:/path`.
  ///
  /// Names other than `localhost` are not looked up: the program can't guess which of a name's addresses to listen on.
  package init(parsing text: String) throws(SocketAddressError) {
    if text.hasPrefix("unix:") {
      self = try Self.unix(String(text.dropFirst(5)), in: text)
      return
    }
    guard let colon = text.lastIndex(of: ":") else { throw SocketAddressError(text: text, problem: .missingPort) }
    guard let port = Self.port(text[text.index(after: colon)...]) else {
      throw SocketAddressError(text: text, problem: .badPort)
    }
    guard let address = Self.address(of: text[..<colon], port: port) else {
      throw SocketAddressError(text: text, problem: .badHost)
    }
    self = address
  }

  private static func unix(_ path: String, in text: String) throws(SocketAddressError) -> SocketAddress {
    guard !path.isEmpty, !path.utf8.contains(0), path.utf8.count < Self.unixPathCapacity else {
      throw SocketAddressError(text: text, problem: .badPath)
    }
    return .unix(path: path)
  }

  private static func port(_ text: Substring) -> UInt16? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }  // UInt16 would take a sign
    return UInt16(text)
  }

  private static func address(of host: Substring, port: UInt16) -> SocketAddress? {
    switch host {
    case "": return .any(port: port)
    case "localhost": return .loopback(port: port)
    default: break
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      var address = (UInt64(0), UInt64(0))
      guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else { return nil }
      return .v6(high: UInt64(bigEndian: address.0), low: UInt64(bigEndian: address.1), port: port)
    }
    var address = UInt32(0)
    guard inet_pton(AF_INET, String(host), &address) == 1 else { return nil }
    return .v4(UInt32(bigEndian: address), port: port)
  }
}

/// The reason why a text is not an address to listen on.
package struct SocketAddressError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Problem: Hashable, Sendable {
    case missingPort
    case badPort
    case badHost
    case badPath
  }

  package let text: String
  package let problem: Problem

  package var description: String {
    switch problem {
    case .missingPort: "'\(text)' has no port; write 127.0.0.1:8080, [::1]:8080, :8080 or unix:/path"
    case .badPort: "'\(text)' has no valid port; ports are numbers from 0 to 65535"
    case .badHost: "'\(text)' has no valid host; write an IPv4 address, an IPv6 address in brackets, or localhost"
    case .badPath: "'\(text)' has no valid socket path; it holds 1 to \(SocketAddress.unixPathCapacity - 1) bytes"
    }
  }
}
