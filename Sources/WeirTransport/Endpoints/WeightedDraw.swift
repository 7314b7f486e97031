/// Draws places by weight in constant time, from a table of aliases (Vose, 1991).
struct WeightedDraw: Sendable {
  private struct Column: Sendable {
    /// The part of the column that belongs to its own place, of 2^32.
    var threshold: UInt32 = .max
    var alias: UInt32
  }

  private var columns: [Column]

  init(_ weights: [Int]) {
    columns = weights.indices.map { Column(alias: UInt32(truncatingIfNeeded: $0)) }
    let mean = Double(weights.reduce(0, +)) / Double(max(1, weights.count))
    var parts = weights.map { Double($0) / mean }
    var small = parts.indices.filter { parts[$0] < 1 }
    var large = parts.indices.filter { parts[$0] >= 1 }
    while let low = small.popLast(), let high = large.last {
      columns[low] = Column(
        threshold: UInt32(min(max(0, parts[low] * 0x1p32), 0x1p32 - 1)), alias: UInt32(truncatingIfNeeded: high))
      parts[high] -= 1 - parts[low]
      guard parts[high] < 1 else { continue }
      large.removeLast()
      small.append(high)
    }
  }

  /// - Parameter bits: Uniformly random ones.
  /// - Returns: A place; 0 without any.
  func place(_ bits: UInt64) -> Int {
    let place = Int(((bits >> 32) &* UInt64(truncatingIfNeeded: columns.count)) >> 32)
    guard place < columns.count else { return 0 }
    let column = columns[place]
    return UInt32(truncatingIfNeeded: bits) <= column.threshold ? place : Int(column.alias)
  }
}
