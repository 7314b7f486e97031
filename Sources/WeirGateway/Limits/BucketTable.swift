import WeirIO
import WeirTransport

/// The buckets of one part of a limit's keys, found by the keys' fingerprints. A value.
///
/// A key has one of eight places. A new one takes a place whose bucket is full, since such a bucket is like none. If there
/// is none the table grows, and at its full size the bucket of the eight that is nearest to full goes: a key that has
/// spent its tokens is not forgotten first.
struct BucketTable {
  /// 32 bytes.
  private struct Place {
    var bucket = TokenBucket()
    /// 0 for a place that was never taken.
    var fingerprint: UInt64 = 0
  }

  private static let places = 8
  private static let first = 64

  private(set) var terms: TokenBucket.Terms
  /// A key's places follow each other, from one of `count - 7` indices on. That is a power of two.
  private var table: [Place] = []
  /// The number of beginnings at most; a power of two.
  private let most: Int

  init(_ terms: TokenBucket.Terms, most: Int) {
    self.terms = terms
    self.most = most
  }

  /// The bytes of the buckets.
  var bytes: Int { table.capacity * MemoryLayout<Place>.stride }

  /// Takes a token of a key's bucket. If there is none, returns the seconds after which there will be one.
  ///
  /// - Parameter fingerprint: A hash whose seed no client knows; not 0.
  mutating func take(_ fingerprint: UInt64, at now: MonotonicTime) -> Int? {
    table[place(of: fingerprint, at: now)].bucket.take(by: terms, at: now)
  }

  /// Gives back the token that a key's request has taken, if the key is not forgotten.
  mutating func giveBack(_ fingerprint: UInt64) {
    guard !table.isEmpty else { return }
    let begin = begin(of: fingerprint)
    for index in begin..<begin + Self.places where table[index].fingerprint == fingerprint {
      table[index].bucket.giveBack(by: terms)
    }
  }

  /// Takes other terms. Each key keeps what it has taken.
  mutating func change(to new: TokenBucket.Terms, at now: MonotonicTime) {
    if new == terms { return }
    for index in table.indices where table[index].fingerprint != 0 {
      table[index].bucket = table[index].bucket.changed(from: terms, to: new, at: now)
    }
    terms = new
  }

  private func begin(of fingerprint: UInt64) -> Int {
    Int(truncatingIfNeeded: fingerprint) & (table.count - Self.places)
  }

  private mutating func place(of fingerprint: UInt64, at now: MonotonicTime) -> Int {
    while true {
      if !table.isEmpty {
        let (index, isKnown) = bestPlace(for: fingerprint)
        if isKnown { return index }
        if table.count > most || table[index].bucket.isFull(by: terms, at: now) {
          table[index] = Place(fingerprint: fingerprint)
          return index
        }
      }
      grow(at: now)
    }
  }

  /// The place of a key, or the one that it should take.
  private func bestPlace(for fingerprint: UInt64) -> (index: Int, isKnown: Bool) {
    let begin = begin(of: fingerprint)
    var best = begin
    for index in begin..<begin + Self.places {
      if table[index].fingerprint == fingerprint { return (index, true) }
      if table[index].bucket.full < table[best].bucket.full { best = index }
    }
    return (best, false)
  }

  private mutating func grow(at now: MonotonicTime) {
    let before = table
    let beginnings = before.isEmpty ? min(Self.first, most) : (before.count - Self.places + 1) * 2
    table = Array(repeating: Place(), count: beginnings + Self.places - 1)
    for place in before where !place.bucket.isFull(by: terms, at: now) {
      table[bestPlace(for: place.fingerprint).index] = place
    }
  }
}
