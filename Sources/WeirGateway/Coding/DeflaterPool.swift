import WeirCompression

/// A few compressors that wait for the next body, because making one costs more than compressing a small body.
/// Confined to the loop.
final class DeflaterPool {
  /// The most that wait. Each holds 256 KiB.
  static let limit = 8

  private let level: Int
  private var idle: [Deflater] = []

  init(level: Int) {
    self.level = level
  }

  /// Nil if there is no memory for one.
  func take() -> Deflater? {
    if let deflater = idle.popLast() { return deflater }
    do { return try Deflater(.gzip, level: level) } catch { return nil }
  }

  func put(_ deflater: Deflater) {
    guard idle.count < Self.limit else { return }
    do { try deflater.reset() } catch { return }
    idle.append(deflater)
  }
}
