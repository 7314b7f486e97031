package import WeirIO

/// The bytes that a receiver took in the last five seconds, by looks at their sum once a second. A value.
package struct RecentBytes: Sendable {
  /// Seconds.
  package static let window = 5
  package static let interval = 1.0

  /// The sums at the last looks, the oldest first.
  private var sums: [Int]

  /// - Parameters:
  ///   - sum: The bytes that were taken since `began`. What was taken longer ago than the window counts by its mean rate.
  package init(sum: Int, since began: MonotonicTime, at now: MonotonicTime) {
    let seconds = max(now.seconds(since: began), Double(Self.window))
    let before = sum - Int(Double(sum) / seconds * Double(Self.window))
    // As if they had been taken evenly.
    sums = (0...Self.window).map { before + (sum - before) * $0 / Self.window }
  }

  /// Another second has passed.
  package mutating func look(sum: Int) {
    sums.removeFirst()
    sums.append(max(sum, sums.last ?? 0))
  }

  package var count: Int { (sums.last ?? 0) - (sums.first ?? 0) }
}
