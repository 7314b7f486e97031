import Synchronization
import WeirIO

/// The buckets of one rate limit, which all workers share.
///
/// It remembers 65,536 keys, in 64 bytes each. Of more, those go that have most tokens.
final class RateLimiter: Sendable {
  /// The beginnings of places in one shard: two for each key, so that few keys have to share.
  private static let beginnings = 2 * 65_536 / LimitShard<BucketTable>.count

  private let shards: [LimitShard<BucketTable>]

  init(_ limit: RateLimit) {
    let terms = TokenBucket.Terms(limit)
    if limit.key == .route {
      shards = [LimitShard(BucketTable(terms, most: 1))]
    } else {
      shards = (0..<LimitShard<BucketTable>.count).map { _ in
        LimitShard(BucketTable(terms, most: Self.beginnings))
      }
    }
  }

  /// Takes a token of a key. If there is none, returns the seconds after which there will be one.
  func take(_ fingerprint: UInt64, at now: MonotonicTime) -> Int? {
    shards.shard(of: fingerprint).state.withLock { $0.take(fingerprint, at: now) }
  }

  /// Gives back the token of a request that another limit refuses.
  func giveBack(_ fingerprint: UInt64) {
    shards.shard(of: fingerprint).state.withLock { $0.giveBack(fingerprint) }
  }

  /// Takes another rate and burst.
  func change(to limit: RateLimit, at now: MonotonicTime) {
    let terms = TokenBucket.Terms(limit)
    for shard in shards { shard.state.withLock { $0.change(to: terms, at: now) } }
  }

  /// The bytes of all buckets.
  var bytes: Int { shards.reduce(0) { sum, shard in sum + shard.state.withLock { $0.bytes } } }
}
