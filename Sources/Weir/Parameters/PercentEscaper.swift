import Foundation

/// Percent-encodes the UTF-8 of a text (RFC 3986 section 2.1), all bytes but a set of ASCII ones.
struct PercentEscaper: Sendable, Hashable {
  private var low: UInt64 = 0
  private var high: UInt64 = 0

  /// Takes the ASCII members of the set; bytes beyond ASCII are always escaped.
  init(allowed: CharacterSet) {
    for byte in UInt8(0)..<128 where allowed.contains(Unicode.Scalar(byte)) {
      if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
    }
  }

  func escape(_ text: String, spaceAsPlus: Bool = false) -> String {
    var text = text
    return text.withUTF8 { bytes in
      guard !bytes.allSatisfy(allows) || (spaceAsPlus && bytes.contains(0x20)) else {
        return String(decoding: bytes, as: UTF8.self)
      }
      return String(unsafeUninitializedCapacity: bytes.count * 3) { target in
        var count = 0
        for byte in bytes {
          if spaceAsPlus, byte == 0x20 {
            target[count] = UInt8(ascii: "+")
            count += 1
          } else if allows(byte) {
            target[count] = byte
            count += 1
          } else {
            target[count] = UInt8(ascii: "%")
            target[count + 1] = Self.digit(byte >> 4)
            target[count + 2] = Self.digit(byte & 0xF)
            count += 3
          }
        }
        return count
      }
    }
  }

  private func allows(_ byte: UInt8) -> Bool {
    switch byte {
    case 0..<64: low >> UInt64(byte) & 1 == 1
    case 64..<128: high >> UInt64(byte - 64) & 1 == 1
    default: false
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}

extension CharacterSet {
  /// What stands unescaped in keys and values of a query: `A–Z a–z 0–9 - . _ ~ / ?`.
  ///
  /// The unreserved characters (RFC 3986 section 2.3), and of the reserved ones the two that section 3.4 allows in a
  /// query by name.
  public static let weirURLQueryAllowed = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?")
}
