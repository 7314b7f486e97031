import WeirHTTP

/// Takes the secrets of one credential out of texts that come from outside, such as a token service's answer, which may
/// repeat what was sent. A value.
///
/// Secrets of 8 octets and more are found: as they are, form-encoded in any spelling, and as Basic has them. A shorter
/// one would be found in texts that have nothing to do with it.
package struct SecretRedaction: Sendable {
  /// The fewest octets of a secret that is looked for.
  static let fewestOctets = 8

  private var secrets: Set<[UInt8]> = []

  package init() {}

  package mutating func add(_ secret: [UInt8]) {
    if secret.count >= Self.fewestOctets { secrets.insert(secret) }
  }

  /// Adds a password, and the pair as Basic has it (RFC 7617).
  package mutating func add(user: [UInt8], password: [UInt8]) {
    add(password)
    let pair = Data(user + ":".utf8 + password).base64EncodedString()
    add(Array(pair.utf8.prefix { $0 != .equalsSign }))
  }

  package mutating func add(_ other: SecretRedaction) { secrets.formUnion(other.secrets) }

  /// The text without the secrets.
  package func text(_ text: String) -> String {
    String(decoding: octets(Array(text.utf8)), as: UTF8.self)
  }

  /// The first printable octets of a text without the secrets; a question mark stands for each other octet.
  package func printable(_ text: String, most: Int = 200) -> String {
    let octets = octets(Array(text.utf8)).prefix(most)
    return String(decoding: octets.map { (0x20...0x7E).contains($0) ? $0 : .questionMark }, as: UTF8.self)
  }

  private func octets(_ octets: [UInt8]) -> [UInt8] {
    if secrets.isEmpty { return octets }
    var result: [UInt8] = []
    var rest = octets[...]
    while let first = rest.first {
      if let found = secrets.compactMap({ Self.length(of: $0, at: rest) }).max() {
        result += Redaction.placeholder.utf8
        rest = rest.dropFirst(found)
      } else {
        result.append(first)
        rest = rest.dropFirst()
      }
    }
    return result
  }

  /// The number of octets by which a text begins with a secret; nil if it does not.
  private static func length(of secret: [UInt8], at text: ArraySlice<UInt8>) -> Int? {
    if text.starts(with: secret) { return secret.count }
    var rest = text
    for octet in secret {
      guard let length = length(of: octet, at: rest) else { return nil }
      rest = rest.dropFirst(length)
    }
    return text.count - rest.count
  }

  /// The same for an octet that may be escaped, or a blank that is written as a plus.
  private static func length(of octet: UInt8, at text: ArraySlice<UInt8>) -> Int? {
    guard let first = text.first else { return nil }
    let digits = text.dropFirst().prefix(2).compactMap(\.hexValue)
    if first == UInt8(ascii: "%"), digits.count == 2, digits[0] << 4 | digits[1] == octet { return 3 }
    return first == octet || first == UInt8(ascii: "+") && octet == .space ? 1 : nil
  }
}
