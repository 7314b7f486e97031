/// Counts requests by their microseconds. Takes the same memory for any number of them, so that the growth of a run's memory is
/// the client's.
struct Latencies {
  /// Longer ones count as this many.
  private static let longest = 200_000

  private var counts = [UInt32](repeating: 0, count: longest + 1)
  private var total = 0

  mutating func add(_ microseconds: Int) {
    counts[min(max(microseconds, 0), Self.longest)] += 1
    total += 1
  }

  /// The microseconds within which a share of all requests ended.
  func quantile(_ share: Double) -> Int {
    var rest = Int((Double(total) * share).rounded(.up))
    for (microseconds, count) in counts.enumerated() {
      rest -= Int(count)
      if rest <= 0 { return microseconds }
    }
    return Self.longest
  }
}
