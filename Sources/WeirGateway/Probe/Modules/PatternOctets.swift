/// A set of the octets of ASCII without NUL, with or without all octets beyond ASCII.
struct PatternOctets: Equatable {
  private var low = [Bool](repeating: false, count: 128)
  private(set) var hasHigh = false

  init() {}

  /// The set of `\d`, `\D`, `\s`, `\S`, `\w` or `\W`; nil for another letter.
  init?(class letter: UInt8) {
    switch letter {
    case UInt8(ascii: "d"): self = Self.of(0x30...0x39)
    case UInt8(ascii: "s"): self = Self.of(0x09...0x0a, 0x0c...0x0d, 0x20...0x20)
    case UInt8(ascii: "w"): self = Self.of(0x30...0x39, 0x41...0x5a, 0x5f...0x5f, 0x61...0x7a)
    case UInt8(ascii: "D"), UInt8(ascii: "S"), UInt8(ascii: "W"):
      guard let positive = PatternOctets(class: letter | 0x20) else { return nil }
      self = positive.inverted
    default: return nil
    }
  }

  static let names = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
  ]

  /// The set of `[:digit:]` and the like; nil for another name.
  init?(named name: String) {
    switch name {
    case "alnum": self = Self.of(0x30...0x39, 0x41...0x5a, 0x61...0x7a)
    case "alpha": self = Self.of(0x41...0x5a, 0x61...0x7a)
    case "ascii": self = Self.of(0x01...0x7f)
    case "blank": self = Self.of(0x09...0x09, 0x20...0x20)
    case "cntrl": self = Self.of(0x01...0x1f, 0x7f...0x7f)
    case "digit": self = Self.of(0x30...0x39)
    case "graph": self = Self.of(0x21...0x7e)
    case "lower": self = Self.of(0x61...0x7a)
    case "print": self = Self.of(0x20...0x7e)
    case "punct": self = Self.of(0x21...0x2f, 0x3a...0x40, 0x5b...0x60, 0x7b...0x7e)
    case "space": self = Self.of(0x09...0x0d, 0x20...0x20)
    case "upper": self = Self.of(0x41...0x5a)
    case "word": self = Self.of(0x30...0x39, 0x41...0x5a, 0x5f...0x5f, 0x61...0x7a)
    case "xdigit": self = Self.of(0x30...0x39, 0x41...0x46, 0x61...0x66)
    default: return nil
    }
  }

  private static func of(_ ranges: ClosedRange<UInt8>...) -> PatternOctets {
    var set = PatternOctets()
    for range in ranges { set.insert(range) }
    return set
  }

  func contains(_ octet: UInt8) -> Bool { octet < 128 ? low[Int(octet)] : hasHigh }

  mutating func insert(_ range: ClosedRange<UInt8>) {
    for octet in range where octet < 128 && octet > 0 { low[Int(octet)] = true }
  }

  mutating func takeAll(of other: PatternOctets) {
    for index in low.indices where other.low[index] { low[index] = true }
    hasHigh = hasHigh || other.hasHigh
  }

  /// Adds the other case of each letter.
  mutating func foldCase() {
    for letter in 0x41...0x5a where low[letter] || low[letter + 0x20] {
      low[letter] = true
      low[letter + 0x20] = true
    }
  }

  var inverted: PatternOctets {
    var set = self
    for index in 1..<128 { set.low[index] = !low[index] }
    set.hasHigh = !hasHigh
    return set
  }

  /// The set as a POSIX expression for one octet.
  ///
  /// - Parameter isMultiline: Whether a negated bracket matches no line feed, whatever it says (REG_NEWLINE).
  func bracket(isMultiline: Bool) -> String {
    guard hasHigh else { return Self.bracket(of: low, isNegated: false) }
    let excluded = Self.bracket(of: low.enumerated().map { $0 > 0 && !$1 }, isNegated: true)
    return isMultiline && low[0x0a] ? "(\(excluded)|\n)" : excluded
  }

  /// A bracket in which no character has a meaning of its own.
  private static func bracket(of members: [Bool], isNegated: Bool) -> String {
    let octets = (1..<128).filter { members[$0] }.map(UInt8.init)
    if octets.isEmpty { return isNegated ? "(.|\n)" : "(x\\`)" }
    if !isNegated, octets == [UInt8(ascii: "^")] { return "\\^" }
    let special = "]^-[".utf8
    var text = ""
    if octets.contains(UInt8(ascii: "]")) { text += "]" }
    for octet in octets where !special.contains(octet) { text += String(UnicodeScalar(octet)) }
    for octet in "[^-".utf8 where octets.contains(octet) { text += String(UnicodeScalar(octet)) }
    // In the first place the caret would negate.
    if !isNegated, text.hasPrefix("^") { text = text.dropFirst() + "^" }
    return isNegated ? "[^\(text)]" : "[\(text)]"
  }
}
