/// The order of nginx's smooth weighted round robin, for as long as it takes to repeat: each place as often as its weight
/// says, evenly spread.
enum SmoothSequence {
  /// Additions that may be spent on a sequence, some 10 ms.
  private static let mostWork = 1 << 23

  /// Returns an empty sequence where it would be too long.
  static func make(_ weights: [Int]) -> [UInt32] {
    let divisor = weights.reduce(0, greatestCommonDivisor)
    guard divisor > 0 else { return [] }
    let weights = weights.map { $0 / divisor }
    let total = weights.reduce(0, +)
    if total == weights.count { return weights.indices.map { UInt32(truncatingIfNeeded: $0) } }
    guard total <= mostWork / weights.count else { return [] }
    var present = [Int](repeating: 0, count: weights.count)
    return (0..<total).map { _ in
      var best = 0
      for place in weights.indices {
        present[place] += weights[place]
        if present[place] > present[best] { best = place }
      }
      present[best] -= total
      return UInt32(truncatingIfNeeded: best)
    }
  }

  private static func greatestCommonDivisor(_ left: Int, _ right: Int) -> Int {
    var (left, right) = (left, right)
    while right != 0 { (left, right) = (right, left % right) }
    return left
  }
}
