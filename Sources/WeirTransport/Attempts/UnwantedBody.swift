/// Limits for a body that is of no use: it is read so that its connection can be used again, unless a new connection is
/// cheaper.
struct UnwantedBody {
  /// Seconds that the rest of the body may take.
  static let patience = 0.25
  /// The most bytes that are read.
  static let limit = 64 << 10

  var isDiscarded = false
  var count = 0
  /// Whether the rest of the body took too long.
  var isGivenUp = false

  /// Whether reading on is cheaper than a new connection.
  mutating func discard(_ bytes: Int) -> Bool {
    count += bytes
    return count <= Self.limit
  }
}
