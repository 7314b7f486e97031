import WeirHTTP

/// A content coding that this module can undo (RFC 9110 §8.4.1).
package enum ContentCoding: Hashable, Sendable {
  case gzip
  case deflate

  /// How many codings one body may have: more than are in use, and a limit on the work that a forged header can cause.
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
  /// - Returns: nil if one is unknown or there are more than `maximumCount`; the body is then left unchanged.
  package static func list(_ value: String) -> [ContentCoding]? {
    value.withOctets { list($0) }
  }

  /// As for a text.
  package static func list(_ value: UnsafeRawBufferPointer) -> [ContentCoding]? {
    var codings: [ContentCoding] = []
    for name in value.listElements {
      if name.isEmpty || name.spells("identity") { continue }
      if name.spells("gzip") || name.spells("x-gzip") {
        codings.append(.gzip)
      } else if name.spells("deflate") {
        codings.append(.deflate)
      } else {
        return nil
      }
    }
    return codings.count <= maximumCount ? codings : nil
  }
}
