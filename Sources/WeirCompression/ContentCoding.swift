/// A content coding that this module can undo (RFC 9110 §8.4.1).
package enum ContentCoding: Hashable, Sendable {
  case gzip
  case deflate

  /// How many codings one body may have: more than anybody uses, and a bound on the work of a forged header.
  package static let maximumCount = 4

  var format: InflateFormat {
    switch self {
    case .gzip: .gzip
    case .deflate: .zlibOrRaw
    }
  }

  /// The codings that a Content-Encoding value names, in the order they were applied, without `identity`.
  ///
  /// Names are compared without regard to case, `x-gzip` is `gzip`, and empty list elements are skipped (§5.6.1).
  /// - Returns: nil if one is unknown or there are more than `maximumCount`: the body is then left as it came.
  package static func list(_ value: some StringProtocol) -> [ContentCoding]? {
    var codings: [ContentCoding] = []
    for element in Substring(value).utf8.split(separator: UInt8(ascii: ",")) {
      let name = trimmed(element)
      if name.isEmpty || equals(name, "identity") { continue }
      if equals(name, "gzip") || equals(name, "x-gzip") {
        codings.append(.gzip)
      } else if equals(name, "deflate") {
        codings.append(.deflate)
      } else {
        return nil
      }
    }
    return codings.count <= maximumCount ? codings : nil
  }

  /// Without the optional white space of RFC 9110 §5.6.3: space and tab.
  private static func trimmed(_ bytes: Substring.UTF8View) -> Substring.UTF8View {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    var rest = bytes.drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest = rest.dropLast() }
    return rest
  }

  private static func equals(_ bytes: some Sequence<UInt8>, _ lowercased: StaticString) -> Bool {
    lowercased.withUTF8Buffer { name in
      bytes.elementsEqual(name) { byte, expected in
        (byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte) == expected
      }
    }
  }
}
