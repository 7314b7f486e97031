/// Draws identifiers of traces, of their parts and of requests. A value: equal seeds give equal identifiers.
///
/// The two halves of an identifier come from generators of their own. So two processes repeat each other's only if they drew
/// the same 64 bits of difference, however many identifiers they draw.
package struct TraceIDs: Sendable {
  private var high: PickRandom
  private var low: PickRandom
  private var parents: PickRandom

  package init(using random: inout some RandomNumberGenerator) {
    high = PickRandom(seed: random.next())
    low = PickRandom(seed: random.next())
    parents = PickRandom(seed: random.next())
  }

  /// Seeds from the system's randomness.
  package init() {
    var random = SystemRandomNumberGenerator()
    self.init(using: &random)
  }

  /// Begins a trace.
  ///
  /// - Parameter sample: The share of traces that are sampled.
  package mutating func begin(sample: Double) -> TraceContext {
    let isSampled = parents.unit() < sample
    let (high, low) = pair()
    return TraceContext(high: high, low: low, parent: parent(), flags: isSampled ? 1 : 0)
  }

  /// The identifier of an operation.
  package mutating func parent() -> UInt64 {
    while true {
      let number = parents.next()
      if number != 0 { return number }
    }
  }

  /// The identifier of a request: 32 hexadecimal digits.
  package mutating func request() -> [UInt8] {
    let (high, low) = pair()
    return TraceContext(high: high, low: low, parent: 1, flags: 0).traceIDOctets
  }

  private mutating func pair() -> (UInt64, UInt64) {
    while true {
      let pair = (high.next(), low.next())
      if pair != (0, 0) { return pair }
    }
  }
}
