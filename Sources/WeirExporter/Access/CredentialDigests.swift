/// Digests of credentials that were right, so that a scraper's password is hashed once and not at every scrape. The
/// oldest make place for new ones.
///
/// A digest is 128 bits of SipHash over a random key of this value, so that a copy of the process' memory gives no
/// password away cheaply, and nobody outside can make two credentials fall together.
struct CredentialDigests: Sendable {
  struct Digest: Hashable, Sendable {
    let first: Int
    let second: Int
  }

  private let limit: Int
  private let key: (UInt64, UInt64)
  private var known: Set<Digest> = []
  private var order: [Digest] = []

  init(limit: Int, key: (UInt64, UInt64) = (.random(in: 0 ... .max), .random(in: 0 ... .max))) {
    self.limit = max(1, limit)
    self.key = key
  }

  var count: Int { known.count }

  func digest(name: [UInt8], password: [UInt8]) -> Digest {
    Digest(first: half(0, name, password), second: half(1, name, password))
  }

  /// The key comes first; Hasher adds one of the process' own. Arrays hash with their lengths, so that no name and
  /// password are another name and password together.
  private func half(_ number: UInt8, _ name: [UInt8], _ password: [UInt8]) -> Int {
    var hasher = Hasher()
    hasher.combine(key.0)
    hasher.combine(key.1)
    hasher.combine(number)
    hasher.combine(name)
    hasher.combine(password)
    return hasher.finalize()
  }

  func contains(_ digest: Digest) -> Bool { known.contains(digest) }

  mutating func insert(_ digest: Digest) {
    guard known.insert(digest).inserted else { return }
    order.append(digest)
    if order.count > limit { known.remove(order.removeFirst()) }
  }
}
