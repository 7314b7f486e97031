import Glibc

/// A regular expression of a module, compiled.
///
/// `@unchecked Sendable`: the compiled expression does not change, and the C library locks it while it matches.
final class Pattern: @unchecked Sendable {
  /// The expression as the module has it.
  let source: String
  private let compiled: UnsafeMutablePointer<regex_t>

  init(_ source: String) throws(ProbeProblem) {
    let translation = try PatternTranslation(source)
    self.source = source
    compiled = .allocate(capacity: 1)
    compiled.initialize(to: regex_t())
    var flags = REG_EXTENDED | REG_NOSUB
    if translation.ignoresCase { flags |= REG_ICASE }
    if translation.isMultiline { flags |= REG_NEWLINE }
    let result = regcomp(compiled, translation.text, flags)
    guard result == 0 else {
      var text = [CChar](repeating: 0, count: 256)
      regerror(result, compiled, &text, text.count)
      compiled.deallocate()
      let reason = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      throw ProbeProblem("can't be compiled: \(reason)")
    }
  }

  deinit {
    regfree(compiled)
    compiled.deallocate()
  }

  /// Whether it matches anywhere in the octets, which may hold NUL.
  func matches(_ octets: some Collection<UInt8>) -> Bool {
    // The zero at the end is not part of the range: AddressSanitizer takes all that `regexec` gets for a C string.
    let bytes = Array(octets) + [0]
    return bytes.withUnsafeBytes { bytes in
      var range = regmatch_t(rm_so: 0, rm_eo: regoff_t(clamping: bytes.count - 1))
      guard let base = bytes.baseAddress else { return false }
      return regexec(compiled, base.assumingMemoryBound(to: CChar.self), 0, &range, REG_STARTEND) == 0
    }
  }
}

extension Pattern: Equatable {
  static func == (left: Pattern, right: Pattern) -> Bool { left.source == right.source }
}

/// A set of the octets of ASCII without NUL, with or without all octets beyond ASCII.
struct PatternOctets: Equatable {
  private var low = [Bool](repeating: false, count: 128)
  private(set) var hasHigh = false

  /// The sets of `[:digit:]` and the like.
  private static let classes: KeyValuePairs<String, [ClosedRange<UInt8>]> = [
    "alnum": [0x30...0x39, 0x41...0x5a, 0x61...0x7a],
    "alpha": [0x41...0x5a, 0x61...0x7a],
    "ascii": [0x01...0x7f],
    "blank": [0x09...0x09, 0x20...0x20],
    "cntrl": [0x01...0x1f, 0x7f...0x7f],
    "digit": [0x30...0x39],
    "graph": [0x21...0x7e],
    "lower": [0x61...0x7a],
    "print": [0x20...0x7e],
    "punct": [0x21...0x2f, 0x3a...0x40, 0x5b...0x60, 0x7b...0x7e],
    "space": [0x09...0x0d, 0x20...0x20],
    "upper": [0x41...0x5a],
    "word": [0x30...0x39, 0x41...0x5a, 0x5f...0x5f, 0x61...0x7a],
    "xdigit": [0x30...0x39, 0x41...0x46, 0x61...0x66],
  ]

  static let names = classes.map(\.key)

  init(_ ranges: [ClosedRange<UInt8>] = []) {
    for range in ranges { insert(range) }
  }

  /// The set of `[:digit:]` and the like; nil for another name.
  init?(named name: String) {
    guard let ranges = Self.classes.first(where: { $0.key == name })?.value else { return nil }
    self.init(ranges)
  }

  /// The set of `\d`, `\D`, `\s`, `\S`, `\w` or `\W`; nil for another letter.
  init?(class letter: UInt8) {
    switch letter {
    case UInt8(ascii: "d"): self.init(named: "digit")
    case UInt8(ascii: "s"): self.init([0x09...0x0a, 0x0c...0x0d, 0x20...0x20])
    case UInt8(ascii: "w"): self.init(named: "word")
    case UInt8(ascii: "D"), UInt8(ascii: "S"), UInt8(ascii: "W"):
      guard let positive = PatternOctets(class: letter | 0x20) else { return nil }
      self = positive.inverted
    default: return nil
    }
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
