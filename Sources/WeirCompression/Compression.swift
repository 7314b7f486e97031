/// Compresses and decodes whole bodies in one call, for bodies that are in memory anyway.
package enum Compression {
  /// `bytes`, compressed.
  package static func deflate(
    _ bytes: UnsafeRawBufferPointer, _ format: DeflateFormat, level: Int? = nil
  ) throws(CompressionError) -> [UInt8] {
    var output: [UInt8] = []
    try Deflater(format, level: level).feed(bytes, flush: .finish) { output.append(contentsOf: $0) }
    return output
  }

  /// `bytes`, decoded.
  package static func inflate(
    _ bytes: UnsafeRawBufferPointer, _ format: InflateFormat, limits: DecodeLimits
  ) throws(CompressionError) -> [UInt8] {
    var output: [UInt8] = []
    let inflater = try Inflater(format, limits: limits)
    try inflater.feed(bytes) { output.append(contentsOf: $0) }
    try inflater.finish()
    return output
  }

  /// `bytes`, compressed.
  package static func deflate(
    _ bytes: [UInt8], _ format: DeflateFormat, level: Int? = nil
  ) throws(CompressionError) -> [UInt8] {
    try bytes.span.withUnsafeBytes { input throws(CompressionError) in try deflate(input, format, level: level) }
  }

  /// `bytes`, decoded.
  package static func inflate(
    _ bytes: [UInt8], _ format: InflateFormat, limits: DecodeLimits
  ) throws(CompressionError) -> [UInt8] {
    try bytes.span.withUnsafeBytes { input throws(CompressionError) in try inflate(input, format, limits: limits) }
  }
}
