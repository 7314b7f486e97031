import CCrypt
import Glibc
import WeirHTTP

/// A password's bcrypt hash, in the form that `htpasswd -B` writes.
struct BcryptHash: Sendable, Hashable {
  /// The base-2 logarithm of the number of rounds.
  let cost: Int
  private let text: String

  enum Problem: Error, Equatable {
    case notBcrypt
    case cost(Int)
  }

  /// The costs allowed. Beyond them a login takes more than two seconds, and a client that guesses passwords keeps the
  /// worker busy.
  static let costs = 4...15

  /// Reads `$2y$10$`, then 22 characters of salt and 31 of hash.
  init(_ text: String) throws(Problem) {
    let bytes = Array(text.utf8)
    let dollar = UInt8(ascii: "$")
    guard bytes.count == 60, [0, 3, 6].allSatisfy({ bytes[$0] == dollar }), bytes[1] == UInt8(ascii: "2"),
      "aby".utf8.contains(bytes[2]), let cost = Int(String(decoding: bytes[4..<6], as: UTF8.self)),
      // The digits of bcrypt's own base 64.
      bytes[7...].allSatisfy({ $0.isLetterOrDigit || "./".utf8.contains($0) })
    else { throw .notBcrypt }
    guard Self.costs.contains(cost) else { throw .cost(cost) }
    self.cost = cost
    self.text = text
  }

  /// Whether this is the hash of `password`. It takes 2^cost rounds.
  ///
  /// A password with a NUL never matches, since C strings end there. It takes the same time.
  func matches(_ password: [UInt8]) -> Bool {
    var phrase = password.map { CChar(bitPattern: $0) }
    phrase.append(0)
    var data: UnsafeMutableRawPointer?
    var size: CInt = 0
    defer {
      if let data {
        explicit_bzero(data, Int(size))
        free(data)
      }
    }
    // The hash begins with its own setting. Null means that the system's policy forbids this method, or that memory is
    // short.
    guard let computed = crypt_ra(phrase, text, &data, &size) else { return false }
    let computedBytes = UnsafeRawBufferPointer(start: computed, count: strlen(computed))
    let isEqual = Array(text.utf8).withUnsafeBytes { ConstantTime.areEqual($0, computedBytes) }
    return isEqual && !password.contains(0)
  }
}

extension BcryptHash.Problem: CustomStringConvertible {
  var description: String {
    switch self {
    case .notBcrypt:
      "a password is given as its bcrypt hash, 60 characters that begin with $2y$, $2b$ or $2a$: htpasswd -nBC 10 NAME"
    case .cost(let cost):
      "a bcrypt cost of \(cost) won't do; give \(BcryptHash.costs.lowerBound) to \(BcryptHash.costs.upperBound)"
    }
  }
}

enum ConstantTime {
  /// Compares two texts in a time that doesn't reveal where they differ. It may reveal their lengths.
  static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for index in 0..<left.count { difference |= left[index] ^ right[index] }
    return difference == 0
  }
}
