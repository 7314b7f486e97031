/// Reads members of JSON objects, from anybody. It keeps no tree: what isn't asked for is passed over, without
/// recursion.
struct JSONReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Reads an object and passes the name of each member to `member`, which reads its value or leaves it. False if it
  /// is no object.
  mutating func object(_ member: (String, inout JSONReader) -> Void) -> Bool {
    guard take(UInt8(ascii: "{")) else { return false }
    if take(UInt8(ascii: "}")) { return true }
    repeat {
      guard let name = string(), take(UInt8(ascii: ":")) else { return false }
      var value = self
      guard skipValue() else { return false }
      member(name, &value)
    } while take(UInt8(ascii: ","))
    return take(UInt8(ascii: "}"))
  }

  /// A string; nil for another value.
  mutating func string() -> String? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    // As octets, since halves of a surrogate pair are written apart.
    var text: [UInt16] = []
    var plain: [UInt8] = []
    func flush() {
      text.append(contentsOf: String(decoding: plain, as: UTF8.self).utf16)
      plain.removeAll(keepingCapacity: true)
    }
    while let octet = rest.popFirst() {
      switch octet {
      case UInt8(ascii: "\""):
        flush()
        return String(decoding: text, as: UTF16.self)
      case UInt8(ascii: "\\"):
        guard let unit = escaped() else { return nil }
        flush()
        text.append(unit)
      default: plain.append(octet)
      }
    }
    return nil
  }

  /// A whole number, or a string that is one, as numbers of 64 bits are written; nil for another value.
  mutating func integer() -> Int? {
    skipSpace()
    if rest.first == UInt8(ascii: "\"") { return string().flatMap { Int($0) } }
    let digits = rest.prefix { Self.isPlain($0) }
    return Int(String(decoding: digits, as: UTF8.self))
  }

  /// The code unit that is written behind a backslash (RFC 8259 §7).
  private mutating func escaped() -> UInt16? {
    switch rest.popFirst() {
    case UInt8(ascii: "u"):
      let digits = rest.prefix(4)
      rest = rest.dropFirst(4)
      return digits.count == 4 ? UInt16(String(decoding: digits, as: UTF8.self), radix: 16) : nil
    case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"), UInt8(ascii: "b"), UInt8(ascii: "f"):
      return UInt16(UInt8(ascii: " "))
    case let octet? where octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "\\") || octet == UInt8(ascii: "/"):
      return UInt16(octet)
    default: return nil
    }
  }

  /// Passes over a value of any kind. Brackets are only counted: what stands between them isn't looked at.
  private mutating func skipValue() -> Bool {
    var depth = 0
    repeat {
      skipSpace()
      guard let octet = rest.first else { return false }
      switch octet {
      case UInt8(ascii: "\""): guard string() != nil else { return false }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        rest = rest.dropFirst()
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        rest = rest.dropFirst()
        if depth < 0 { return false }
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        guard depth > 0 else { return false }
        rest = rest.dropFirst()
      default:
        let word = rest.prefix { Self.isPlain($0) }
        guard !word.isEmpty else { return false }
        rest = rest.dropFirst(word.count)
      }
    } while depth > 0
    return true
  }

  private mutating func take(_ octet: UInt8) -> Bool {
    skipSpace()
    guard rest.first == octet else { return false }
    rest = rest.dropFirst()
    return true
  }

  private mutating func skipSpace() {
    rest = rest.drop { $0 == UInt8(ascii: " ") || 0x9...0xd ~= $0 }
  }

  /// The octets of numbers and of `true`, `false` and `null`.
  private static func isPlain(_ octet: UInt8) -> Bool {
    switch octet {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: false
    }
  }
}
