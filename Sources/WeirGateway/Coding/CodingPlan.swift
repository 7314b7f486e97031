import WeirCompression

/// A route's rules about content codings, prepared for its messages.
final class CodingPlan: Sendable {
  /// The bodies that a process codes or decodes at one time, because each holds up to 300 KiB.
  static let mostBodies = 1000

  let rules: CompressionRules
  private let limit: Gate

  /// Nil if the rules code nothing.
  init?(_ rules: CompressionRules?, limit: Gate) {
    guard let rules, !rules.isIdle else { return nil }
    self.rules = rules
    self.limit = limit
  }

  /// The client library's limit on decoded ÷ received bytes, of what lies beyond 10 MiB.
  private static let ratio = 200.0

  /// The coder for a response. Nil if there is nothing to do.
  func coder(for work: ResponseTreatment.Work, _ pool: DeflaterPool) -> BodyCoder? {
    switch work {
    case .none: nil
    case .gzip: coder(pool) { pool.take().map { .gzip($0) } } ?? BodyCoder(.pass, limit: limit)
    case .decode(let codings): decoder(of: codings, bodyBytes: nil) ?? BodyCoder(.pass, limit: limit)
    }
  }

  /// The decoder for a message. Nil if too many bodies are under way.
  ///
  /// - Parameter bodyBytes: The most bytes that the body may have once it is decoded; nil for no limit.
  func decoder(of codings: [ContentCoding], bodyBytes: Int64?) -> BodyCoder? {
    let limits = DecodeLimits(size: bodyBytes, ratio: Self.ratio)
    return coder { (try? ContentDecoder(codings, limits: limits)).map { .decode($0) } }
  }

  /// A coder with a place of the limit. Nil if there is no place, or no memory.
  private func coder(_ pool: DeflaterPool? = nil, _ work: () -> BodyCoder.Work?) -> BodyCoder? {
    guard limit.enter() else { return nil }
    if let work = work() { return BodyCoder(work, limit: limit, pool: pool) }
    limit.leave()
    return nil
  }
}

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
    return try? Deflater(.gzip, level: level)
  }

  func put(_ deflater: Deflater) {
    if idle.count < Self.limit, (try? deflater.reset()) != nil { idle.append(deflater) }
  }
}
