package import WeirCompression

/// A content coding that a request's body can be sent in (RFC 9110 section 8.4.1).
package enum RequestCoding: String, Hashable, Sendable {
  case deflate
  case gzip

  /// One of zlib's ten levels: nearly as small as the default, in less time. In the header of `deflate` it shows as 78
  /// 5E.
  private static let level = 5

  private var format: DeflateFormat {
    switch self {
    case .deflate: .zlib
    case .gzip: .gzip
    }
  }

  /// An encoder that compresses a body piece by piece.
  package func deflater() throws(CompressionError) -> Deflater {
    try Deflater(format, level: Self.level)
  }

  /// The whole body, compressed.
  func compress(_ body: Data) throws -> Data {
    let deflater = try deflater()
    var compressed = Data()
    try body.withUnsafeBytes { bytes in
      try deflater.feed(bytes, flush: .finish) { compressed.append(contentsOf: $0) }
    }
    return compressed
  }
}
