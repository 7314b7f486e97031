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

/// The field Content-Length.
enum ContentLength {
  private static let name: StaticString = "content-length"

  /// The value in a header line of that name; nil for other lines and for what is no number.
  static func value(ofLine line: UnsafeRawBufferPointer) -> Int64? {
    guard line.count > name.utf8CodeUnitCount, line[name.utf8CodeUnitCount] == UInt8(ascii: ":") else { return nil }
    let wanted = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    guard ResponseFields.isEqual(line, 0..<wanted.count, wanted) else { return nil }
    return number(UnsafeRawBufferPointer(rebasing: line[ResponseFields.trimmed(line, wanted.count + 1, line.count)]))
  }

  static func number(_ digits: UnsafeRawBufferPointer) -> Int64? {
    guard !digits.isEmpty, digits.count < 19 else { return nil }
    var length: Int64 = 0
    for byte in digits {
      guard byte &- 48 < 10 else { return nil }
      length = length * 10 + Int64(byte &- 48)
    }
    return length
  }
}

/// The head of a final response, as received; fields are found in the raw bytes when somebody asks.
package struct ResponseHead: Sendable {
  package let status: Int
  package let version: HTTPVersionNumber
  /// Status line to blank line, line ends included. HTTP/2 heads come in the shape of HTTP/1, as libcurl writes them.
  package let raw: [UInt8]

  package init(status: Int, version: HTTPVersionNumber, raw: [UInt8]) {
    self.status = status
    self.version = version
    self.raw = raw
  }

  /// The fields in the order received; lines without a colon are left out.
  package var fields: ResponseFields { ResponseFields(raw: raw) }

  /// The value of the first field of that name, which is ASCII and compared without case.
  package func value(for name: StaticString) -> String? {
    firstField(name).map { fields.string($0.value) }
  }

  /// Calls `body` with the bytes of the first such field's value, or returns nil.
  package func withValue<Result>(for name: StaticString, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    guard let field = firstField(name) else { return nil }
    return raw.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[field.value])) }
  }

  /// The one length that the Content-Length fields agree on (RFC 9110 §8.6); nil when there is none.
  package var contentLength: Int64? {
    withValue(for: "content-length", ContentLength.number) ?? nil
  }

  private func firstField(_ name: StaticString) -> ResponseFields.Field? {
    let wanted = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    return raw.withUnsafeBytes { bytes in
      var cursor = ResponseFields.start(in: bytes)
      while let field = ResponseFields.next(in: bytes, &cursor) {
        if ResponseFields.isEqual(bytes, field.name, wanted) { return field }
      }
      return nil
    }
  }
}
