/// The limits on how far compressed input may expand.
package struct DecodeLimits: Hashable, Sendable {
  /// The most bytes ever delivered; nil for no limit.
  package var size: Int64?

  /// The highest ratio of decoded to received bytes, applied to what lies past `ratioFloor`; nil for no limit. Received
  /// are the bytes that the decoder has taken, so the result does not depend on how the input was divided.
  package var ratio: Double?

  /// Up to this many decoded bytes any ratio is allowed: a short body of zeros is not an attack. Default: 10 MiB.
  package var ratioFloor: Int64

  /// No limit at all, for data of our own.
  package static let unlimited = DecodeLimits(size: nil, ratio: nil)

  /// Negative numbers count as 0; a ratio that is not finite counts as none.
  package init(size: Int64?, ratio: Double?, ratioFloor: Int64 = 10 << 20) {
    self.size = size.map { max(0, $0) }
    self.ratio = ratio.flatMap { $0.isFinite ? max(0, $0) : nil }
    self.ratioFloor = max(0, ratioFloor)
  }

  /// The number of bytes that may be delivered in all after `received` bytes were taken, and the error for the next
  /// byte.
  func allowance(received: Int64) -> (bytes: Int64, error: CompressionError) {
    let bySize = size ?? .max
    guard let ratio, let byRatio = Self.product(ratio, received) else { return (bySize, .sizeLimit(bySize)) }
    let bytes = max(ratioFloor, byRatio)
    return bytes < bySize ? (bytes, .ratioLimit(ratio)) : (bySize, .sizeLimit(bySize))
  }

  /// Nil where the product exceeds an Int64: in practice there is no limit then.
  private static func product(_ ratio: Double, _ received: Int64) -> Int64? {
    let product = ratio * Double(received)
    return product < 9e18 ? Int64(product) : nil
  }
}
