import Synchronization

/// The requests under way that one concurrency limit counts, of all workers. A key without any is forgotten.
final class ConcurrencyLimiter: Sendable {
  private let shards: [LimitShard<[UInt64: Int]>] =
    (0..<LimitShard<[UInt64: Int]>.count).map { _ in LimitShard([:]) }

  /// Counts a request of a key. Returns false if there were `limit` of them; then it is only counted if it `mayExceed`.
  func enter(_ fingerprint: UInt64, limit: Int, mayExceed: Bool) -> Bool {
    shards.shard(of: fingerprint).state.withLock { counts in
      let count = counts[fingerprint, default: 0]
      if count < limit || mayExceed { counts[fingerprint] = count + 1 }
      return count < limit
    }
  }

  func leave(_ fingerprint: UInt64) {
    shards.shard(of: fingerprint).state.withLock { counts in
      guard let count = counts[fingerprint] else { return }
      counts[fingerprint] = count > 1 ? count - 1 : nil
    }
  }

  /// The number of keys with requests under way.
  var keyCount: Int { shards.reduce(0) { sum, shard in sum + shard.state.withLock { $0.count } } }
}

/// The places that a request takes up in concurrency limits. They are given back once: by ``leave()``, or with the last
/// reference. Confined to the loop of its request.
final class LimitPlaces {
  private var places: [(limiter: ConcurrencyLimiter, fingerprint: UInt64)] = []

  func add(_ limiter: ConcurrencyLimiter, _ fingerprint: UInt64) { places.append((limiter, fingerprint)) }

  func leave() {
    for place in places { place.limiter.leave(place.fingerprint) }
    places = []
  }

  deinit { leave() }
}
