import Foundation
import WeirHTTP
import WeirIO

/// The credentials in a request's Authorization field.
package enum Credentials: Equatable {
  /// Name and password as bytes, which our challenge asks to be UTF-8 (RFC 7617).
  case basic(name: [UInt8], password: [UInt8])
  /// A bearer token (RFC 6750).
  case bearer(token: [UInt8])

  /// Nil for any other scheme, and for malformed credentials.
  package init?(authorization: String) {
    let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
    guard parts.count == 2 else { return nil }
    let value = parts[1].drop { $0 == " " }
    switch parts[0].lowercased() {
    case "basic":
      // Foundation accepts a surplus =, so the length is checked first.
      guard value.utf8.count % 4 == 0, let data = Data(base64Encoded: String(value)),
        let colon = data.firstIndex(of: UInt8(ascii: ":"))
      else { return nil }
      self = .basic(name: Array(data[..<colon]), password: Array(data[(colon + 1)...]))
    case "bearer":
      guard Self.isToken(value) else { return nil }
      self = .bearer(token: Array(value.utf8))
    default: return nil
    }
  }

  /// Whether the text is a `b64token` (RFC 6750 §2.1).
  package static func isToken(_ text: some StringProtocol) -> Bool {
    let body = text.utf8.prefix { $0 != UInt8(ascii: "=") }
    return !body.isEmpty && body.allSatisfy { $0.isLetterOrDigit || "-._~+/".utf8.contains($0) }
      && text.utf8.dropFirst(body.count).allSatisfy { $0 == UInt8(ascii: "=") }
  }
}

/// Digests of correct credentials, so that a scraper's password is hashed once and not at every scrape. The oldest make
/// place for new ones.
///
/// A digest is 128 bits of SipHash over a random key of this value. So a copy of the process' memory doesn't cheaply
/// reveal a password, and no client can find two credentials with the same digest.
struct CredentialDigests: Sendable {
  struct Digest: Hashable, Sendable {
    let first: Int
    let second: Int
  }

  private let limit: Int
  private let key: (UInt64, UInt64)
  private var known: Set<Digest> = []
  private var order = Deque<Digest>()

  init(limit: Int, key: (UInt64, UInt64) = (.random(in: 0 ... .max), .random(in: 0 ... .max))) {
    self.limit = max(1, limit)
    self.key = key
  }

  var count: Int { known.count }

  func digest(name: [UInt8], password: [UInt8]) -> Digest {
    Digest(first: half(0, name, password), second: half(1, name, password))
  }

  /// The key comes first; Hasher adds one of the process' own. Arrays are hashed with their lengths, so that a name and
  /// a password can't hash as another name and another password.
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
    if order.count > limit, let oldest = order.popFirst() { known.remove(oldest) }
  }
}
