import WeirCompression
import WeirHTTP

/// A route's rules about content codings, prepared for its messages.
final class CodingPlan: Sendable {
  let rules: CompressionRules
  private let limit: CoderLimit

  /// Nil if the rules code nothing.
  init?(_ rules: CompressionRules?, limit: CoderLimit) {
    guard let rules, !rules.isIdle else { return nil }
    self.rules = rules
    self.limit = limit
  }

  /// The client library's limit on decoded ÷ received bytes, of what lies beyond 10 MiB.
  private static let ratio = 200.0

  /// The coder for a response. Nil if there is nothing to do.
  func coder(for work: ResponseTreatment.Work, _ pool: DeflaterPool) -> BodyCoder? {
    switch work {
    case .none: return nil
    case .gzip:
      guard limit.enter() else { return BodyCoder(.pass, limit: limit) }
      if let deflater = pool.take() { return BodyCoder(.gzip(deflater), limit: limit, pool: pool) }
      limit.leave()
      return BodyCoder(.pass, limit: limit)
    case .decode(let codings):
      return decoder(codings, DecodeLimits(size: nil, ratio: Self.ratio)) ?? BodyCoder(.pass, limit: limit)
    }
  }

  /// The decoder for a request. Nil if too many bodies are under way.
  ///
  /// - Parameter bodyBytes: The most bytes that the request may have once it is decoded; nil for no limit.
  func decoder(forRequest codings: [ContentCoding], bodyBytes: Int64?) -> BodyCoder? {
    decoder(codings, DecodeLimits(size: bodyBytes, ratio: Self.ratio))
  }

  private func decoder(_ codings: [ContentCoding], _ limits: DecodeLimits) -> BodyCoder? {
    guard limit.enter() else { return nil }
    do {
      if let decoder = try ContentDecoder(codings, limits: limits) { return BodyCoder(.decode(decoder), limit: limit) }
    } catch {}
    limit.leave()
    return nil
  }
}
