import WeirHTTP

/// The first line of a request (RFC 9112 §3), read from its octets without the CRLF.
struct RequestLine {
  static let longestMethod = 32
  /// The length of two spaces and `HTTP/1.1`.
  static let versionAndSpaces = 10

  var version = RequestHead.Version.http11
  var form = RequestHead.TargetForm.origin
  var method = 0..<0
  var target = 0..<0
  var path = 0..<0
  var query: Range<Int>?
  /// Only in the absolute and the authority form.
  var authority: Range<Int>?

  init(_ line: Span<UInt8>, targetLimit: Int) throws(RequestRefusal) {
    method = try Self.method(in: line)
    guard let end = line.firstIndex(of: .space, from: method.upperBound + 1) else {
      throw .badRequest("the request line has no version")
    }
    target = method.upperBound + 1..<end
    version = try Self.version(line.extracting(end + 1..<line.count))
    guard target.count <= targetLimit else { throw .targetTooLong }
    try readTarget(line)
  }

  private static func method(in line: Span<UInt8>) throws(RequestRefusal) -> Range<Int> {
    var end = 0
    while end < line.count, OctetSet.token.contains(line[end]) { end += 1 }
    guard end > 0, end < line.count, line[end] == .space else {
      throw .badRequest("the request line doesn't begin with a method")
    }
    guard end <= longestMethod else { throw .methodTooLong }
    return 0..<end
  }

  private static func version(_ text: Span<UInt8>) throws(RequestRefusal) -> RequestHead.Version {
    guard text.count == 8, text.extracting(0..<5).equals("HTTP/"), text[5].isDigit, text[6] == 0x2e, text[7].isDigit
    else { throw .badRequest("the request line doesn't end with a version") }
    guard text[5] == 0x31 else { throw .unknownVersion }
    // A higher minor version is read as the highest one that is known here (RFC 9110 §2.5).
    return text[7] == 0x30 ? .http10 : .http11
  }

  private mutating func readTarget(_ line: Span<UInt8>) throws(RequestRefusal) {
    let octets = line.extracting(target)
    // Clients do send quotes, braces and other octets that URIs exclude. A fragment is refused, since it would be
    // ambiguous.
    guard octets.count > 0, octets.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != 0x23 }) else {
      throw .badRequest("the request target is malformed")
    }
    if line.extracting(method).equals("CONNECT") {
      try readAuthorityForm(line)
    } else if octets[0] == .slash {
      splitQuery(line, from: target.lowerBound)
    } else if octets.equals("*") {
      guard line.extracting(method).equals("OPTIONS") else { throw .badRequest("the target * is for OPTIONS alone") }
      form = .asterisk
      path = target
    } else {
      try readAbsoluteForm(line)
    }
  }

  /// Reads the authority form (RFC 9112 §3.2.3): host and port, both required.
  private mutating func readAuthorityForm(_ line: Span<UInt8>) throws(RequestRefusal) {
    let octets = line.extracting(target)
    guard Authority.isValid(octets), Authority.hasPort(octets) else {
      throw .badRequest("CONNECT needs a host and a port")
    }
    form = .authority
    authority = target
    path = target.upperBound..<target.upperBound
  }

  /// Reads the absolute form (RFC 9112 §3.2.2). Userinfo is refused, as RFC 9110 §4.2.4 advises.
  private mutating func readAbsoluteForm(_ line: Span<UInt8>) throws(RequestRefusal) {
    guard let colon = line.firstIndex(of: .colon, from: target.lowerBound), colon + 3 < target.upperBound,
      Self.isScheme(line.extracting(target.lowerBound..<colon)), line[colon + 1] == .slash, line[colon + 2] == .slash
    else { throw .badRequest("the request target is neither a path nor an http URL") }
    var end = colon + 3
    while end < target.upperBound, line[end] != .slash, line[end] != .questionMark { end += 1 }
    let octets = line.extracting(colon + 3..<end)
    guard octets.count > 0, octets[0] != .colon, Authority.isValid(octets) else {
      throw .badRequest("the request target's host is malformed")
    }
    form = .absolute
    authority = colon + 3..<end
    splitQuery(line, from: end)
  }

  private static func isScheme(_ text: Span<UInt8>) -> Bool {
    text.spells("http") || text.spells("https")
  }

  private mutating func splitQuery(_ line: Span<UInt8>, from start: Int) {
    if let mark = line.firstIndex(of: .questionMark, from: start), mark < target.upperBound {
      path = start..<mark
      query = mark + 1..<target.upperBound
    } else {
      path = start..<target.upperBound
    }
  }
}

/// `host[:port]` (RFC 3986 §3.2), without userinfo.
enum Authority {
  static func isValid(_ text: Span<UInt8>) -> Bool {
    guard text.count > 0 else { return true }  // RFC 9110 §7.2: Host may be empty
    guard let end = hostEnd(text) else { return false }
    guard end < text.count else { return true }
    return text[end] == .colon && text.count - end <= 6 && text.extracting(end + 1..<text.count).allSatisfy(\.isDigit)
  }

  static func hasPort(_ text: Span<UInt8>) -> Bool {
    guard let end = hostEnd(text), end > 0 else { return false }
    return text.count > end + 1
  }

  private static func hostEnd(_ text: Span<UInt8>) -> Int? {
    var end = 0
    if text.count > 0, text[0] == 0x5b {
      end = 1
      while end < text.count, OctetSet.ipLiteral.contains(text[end]) { end += 1 }
      return end > 1 && end < text.count && text[end] == 0x5d ? end + 1 : nil
    }
    while end < text.count, OctetSet.registeredName.contains(text[end]) { end += 1 }
    return end
  }
}
