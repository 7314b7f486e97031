import Synchronization
import WeirIO
import WeirTransport

/// The buckets of one rate limit, which all workers share.
///
/// It remembers 65,536 keys, in 64 bytes each. Of more, those go that have most tokens.
final class RateLimiter: Sendable {
  /// The beginnings of places in one shard: two for each key, so that few keys have to share.
  private static let beginnings = 2 * 65_536 / LimitShard<BucketTable>.count

  private let shards: [LimitShard<BucketTable>]

  init(_ limit: RateLimit) {
    let terms = TokenBucket.Terms(limit)
    shards =
      limit.key == .route
      ? [LimitShard(BucketTable(terms, most: 1))] : LimitShard.all(of: BucketTable(terms, most: Self.beginnings))
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

/// The requests under way that one concurrency limit counts, of all workers. A key without any is forgotten.
final class ConcurrencyLimiter: Sendable {
  private let shards = LimitShard<[UInt64: Int]>.all(of: [:])

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

/// The permits that a request has of concurrency limits. They are given back once: by ``release()``, or with the last
/// reference. Confined to the loop of its request.
final class ConcurrencyPermits {
  private var permits: [(limiter: ConcurrencyLimiter, fingerprint: UInt64)] = []

  func add(_ limiter: ConcurrencyLimiter, _ fingerprint: UInt64) { permits.append((limiter, fingerprint)) }

  func release() {
    for permit in permits { permit.limiter.leave(permit.fingerprint) }
    permits = []
  }

  deinit { release() }
}

/// A part of the keys of a limit, with a lock of its own.
final class LimitShard<State: Sendable>: Sendable {
  /// The number of parts of a limit with many keys.
  static var count: Int { 16 }

  let state: Mutex<State>

  init(_ state: State) {
    self.state = Mutex(state)
  }

  /// The parts of a limit with many keys, which begin alike.
  static func all(of state: State) -> [LimitShard] { (0..<count).map { _ in LimitShard(state) } }
}

extension Array {
  /// The shard of a key.
  func shard<State>(of fingerprint: UInt64) -> LimitShard<State> where Element == LimitShard<State> {
    // The tables within a shard go by the other end of the fingerprint.
    self[count == 1 ? 0 : Int(fingerprint >> 60)]
  }
}

extension TokenBucket.Terms {
  init(_ limit: RateLimit) { self.init(limit.rate.count, per: limit.rate.period, burst: limit.burst) }
}
