/// The version of HTTP of a response.
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

  /// The ALPN name (RFC 7301): `http/1.1`, `h2`.
  package var protocolName: String {
    switch major {
    case 2: "h2"
    case 3: "h3"
    default: minor == 0 ? "http/1.0" : "http/1.1"
    }
  }

  /// The name in status lines: `HTTP/1.1`.
  package var fieldName: String {
    switch (major, minor) {
    case (1, 1): "HTTP/1.1"
    case (1, 0): "HTTP/1.0"
    case (2, 0): "HTTP/2.0"
    default: "HTTP/\(major).\(minor)"
    }
  }

  package var description: String { protocolName }
}

/// The first line of a response (RFC 9112 §4): `HTTP/1.1 200 OK`, or `HTTP/2 200` as libcurl writes it.
package struct StatusLine: Hashable, Sendable {
  /// A higher minor version of HTTP/1 counts as 1.1, by whose rules it can be read (RFC 9110 §2.5).
  package let version: HTTPVersionNumber
  package let status: Int

  /// Reads a line with or without its end; nil if it is not a status line.
  package init?(_ line: UnsafeRawBufferPointer) {
    guard line.count >= 10, line.starts(with: "HTTP/") else { return nil }
    let major = line[5] &- 0x30
    let hasMinor = line[6] == UInt8(ascii: ".")
    let minor = hasMinor ? line[7] &- 0x30 : 0
    let start = hasMinor ? 9 : 7
    guard major < 10, minor < 10, line.count >= start + 3, line[start - 1] == .space,
      let status = line.octets(start..<start + 3).decimal
    else { return nil }
    // Some readers take the first three of four digits.
    if line.count > start + 3, line[start + 3] != .space, !line[start + 3].isLineBreak { return nil }
    version = HTTPVersionNumber(major: major, minor: major == 1 ? min(minor, 1) : minor)
    self.status = Int(status)
  }

  /// Whether another head follows; 101 is the last head of its transfer (RFC 9110 §15.2).
  package var isInterim: Bool { status / 100 == 1 && status != 101 }

  /// Interim responses, 204 and 304 have no body (RFC 9112 §6.3).
  package var mayHaveBody: Bool { status >= 200 && status != 204 && status != 304 }
}

extension StatusLine {
  /// Reads the line at `start`, if it has the usual form: HTTP/1.0 or 1.1, a status from 100 on, a blank, a reason
  /// without control characters, CR LF. Sets `lineEnd`. A nil means nothing about the line, as for ``UsualField``.
  package init?(usual octets: UnsafeRawPointer, from start: Int, before end: Int, lineEnd: inout Int) {
    guard start <= end &- 16 else { return nil }
    let word = OctetWord(octets, at: start).bits
    let digits = (octets[start &+ 9] &- 0x30, octets[start &+ 10] &- 0x30, octets[start &+ 11] &- 0x30)
    guard word == Self.version(1) || word == Self.version(0), octets[start &+ 8] == .space,
      octets[start &+ 12] == .space, digits.0 > 0, digits.0 < 10, digits.1 < 10, digits.2 < 10
    else { return nil }
    let reasonEnd = octets.firstControl(from: start &+ 13, before: end)
    guard reasonEnd < end &- 1, octets[reasonEnd] == .carriageReturn, octets[reasonEnd &+ 1] == .lineFeed else {
      return nil
    }
    lineEnd = reasonEnd &+ 2
    version = word == Self.version(1) ? .http1_1 : .http1_0
    status = Int(digits.0) &* 100 &+ Int(digits.1) &* 10 &+ Int(digits.2)
  }

  /// `HTTP/1.0` or `HTTP/1.1` as the bits of a word.
  private static func version(_ minor: UInt64) -> UInt64 { 0x302e_312f_5054_5448 | minor << 56 }
}
