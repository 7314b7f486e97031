/// The version of HTTP that a response came in.
package struct HTTPVersionNumber: Sendable, Hashable, CustomStringConvertible {
  package let major: UInt8
  package let minor: UInt8

  package init(major: UInt8, minor: UInt8) {
    self.major = major
    self.minor = minor
  }

  package static let http1_0 = HTTPVersionNumber(major: 1, minor: 0)
  package static let http1_1 = HTTPVersionNumber(major: 1, minor: 1)
  package static let http2 = HTTPVersionNumber(major: 2, minor: 0)
  package static let http3 = HTTPVersionNumber(major: 3, minor: 0)

  /// The ALPN name (RFC 7301): `http/1.1`, `h2`.
  package var protocolName: String {
    switch major {
    case 2: "h2"
    case 3: "h3"
    default: minor == 0 ? "http/1.0" : "http/1.1"
    }
  }

  package var description: String { protocolName }
}

/// The head of a final response, as received.
package struct ResponseHead: Sendable {
  package let status: Int
  package let version: HTTPVersionNumber
  /// Whether it has a Content-Encoding.
  package let isEncoded: Bool
  /// Status line to blank line, line ends included. HTTP/2 heads come in the shape of HTTP/1, as libcurl writes them.
  package let raw: [UInt8]

  package init(status: Int, version: HTTPVersionNumber, isEncoded: Bool, raw: [UInt8]) {
    self.status = status
    self.version = version
    self.isEncoded = isEncoded
    self.raw = raw
  }
}
