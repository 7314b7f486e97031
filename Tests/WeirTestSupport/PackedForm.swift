package import WeirCompression

/// A form in which servers send a body that is coded by `gzip` or `deflate`.
package enum PackedForm: Sendable {
  case gzip
  /// RFC 1950, as `deflate` should be.
  case zlib
  /// RFC 1951, as some servers send `deflate`.
  case raw
}

extension Compression {
  /// `bytes`, compressed.
  package static func deflate(
    _ bytes: [UInt8], _ coding: ContentCoding, level: Int? = nil
  ) throws(CompressionError) -> [UInt8] {
    try bytes.span.withUnsafeBytes { input throws(CompressionError) in try deflate(input, coding, level: level) }
  }

  /// `bytes`, compressed.
  package static func pack(_ bytes: [UInt8], _ form: PackedForm) throws(CompressionError) -> [UInt8] {
    switch form {
    case .gzip: try deflate(bytes, .gzip)
    case .zlib: try deflate(bytes, .deflate)
    // Without the header of two bytes and the checksum of four.
    case .raw: Array(try deflate(bytes, .deflate).dropFirst(2).dropLast(4))
    }
  }

  /// `bytes`, decoded.
  package static func inflate(
    _ bytes: [UInt8], _ coding: ContentCoding, limits: DecodeLimits = .unlimited
  ) throws(CompressionError) -> [UInt8] {
    var output: [UInt8] = []
    let inflater = try Inflater(coding, limits: limits)
    try bytes.span.withUnsafeBytes { input throws(CompressionError) in
      _ = try inflater.feed(input) { output.append(contentsOf: $0) }
    }
    try inflater.finish()
    return output
  }
}

extension DecodeLimits {
  /// No limit at all, for data of our own.
  package static let unlimited = DecodeLimits(size: nil, ratio: nil)
}
