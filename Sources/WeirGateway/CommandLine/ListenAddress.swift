import CLinux
import Glibc

/// Where a listener waits: `127.0.0.1:8080`, `[::1]:8080`, or `:8080` for every interface.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
  /// An IP address without brackets; empty for every interface.
  package let host: String
  /// 0 lets the system choose.
  package let port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Nil unless the text is an address with a port. `localhost` is 127.0.0.1; other names are refused, because which of
  /// their addresses to listen on is a guess.
  package init?(parsing text: String) {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let digits = text[text.index(after: colon)...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }), let port = UInt16(digits) else {
      return nil
    }
    let host = text[..<colon]
    if host.isEmpty {
      self.init(host: "", port: port)
    } else if host.lowercased() == "localhost" {
      self.init(host: "127.0.0.1", port: port)
    } else if host.first == "[", host.last == "]", Upstream.isIPv6Address(host.dropFirst().dropLast()) {
      self.init(host: String(host.dropFirst().dropLast()), port: port)
    } else {
      var address = in_addr()
      guard !host.utf8.contains(0), inet_pton(AF_INET, String(host), &address) == 1 else { return nil }
      self.init(host: String(host), port: port)
    }
  }

  package var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
