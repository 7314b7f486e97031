/// Counts that can be added up.
package protocol SpanCounts {
  init()
  mutating func add(_ other: Self)
}

/// The counts of the last ten seconds and in the last five minutes: buckets of five seconds, of which the earlier
/// ones are kept as pieces of half a minute.
package struct SpanRing<Counts: SpanCounts> {
  private static var pieces: Int { 9 }
  private static var bucketsPerPiece: Int { 6 }

  /// The bucket that is not over yet.
  package var present = Counts()
  /// The two buckets before it, the latest first.
  private var before = (Counts(), Counts())
  /// Buckets of the present piece that are over.
  private var piece = Counts()
  /// The pieces before it, the oldest first.
  private var earlier: [Counts] = []
  /// Buckets that are over since the ring began.
  private var over = 0

  package init() {}

  /// Ends the present bucket.
  package mutating func turn() {
    piece.add(present)
    before = (present, before.0)
    present = Counts()
    over += 1
    guard over % Self.bucketsPerPiece == 0 else { return }
    earlier.append(piece)
    if earlier.count > Self.pieces { earlier.removeFirst() }
    piece = Counts()
  }

  /// The last ten seconds and the present bucket.
  package var last10s: Counts {
    var sum = present
    sum.add(before.0)
    sum.add(before.1)
    return sum
  }

  /// The last five minutes, or up to half a minute less.
  package var last5m: Counts {
    var sum = present
    sum.add(piece)
    for piece in earlier { sum.add(piece) }
    return sum
  }

  /// The buckets that are over in each of the two.
  var bucketsIn10s: Int { min(over, 2) }
  var bucketsIn5m: Int { over % Self.bucketsPerPiece + earlier.count * Self.bucketsPerPiece }
}
