/// Translates a regular expression of RE2's syntax, in which blackbox_exporter's modules are written, to a POSIX
/// extended one that matches the same texts. What has no exact counterpart is refused.
///
/// Texts are octets: `.` and a negated bracket stand for one octet. Whether there is a match is all that counts, so
/// that lazy repetitions become plain ones, and `.*` at an end of the expression is left out.
struct PatternTranslation {
  /// The POSIX expression.
  private(set) var text = ""
  /// Whether letters of ASCII match in both cases.
  private(set) var ignoresCase = false
  /// Whether `^` and `$` match at the ends of lines. With it `.` and negated brackets match no line feed by themselves.
  private(set) var isMultiline = false
  /// Whether `.` matches a line feed.
  private var dotMatchesAll = false
  private var hasAlternatives = false

  /// The longest expression, and the most repetitions, of groups within one another in all, as in RE2.
  static let longest = 4096
  static let mostRepetitions = 1000

  private let input: [UInt8]
  private var position = 0
  /// For each open group, and the whole: the most repetitions within, and whether an atom precedes.
  private var levels = [Level()]

  private struct Level {
    var repetitions = 1
    /// Where the last atom begins in the output; nil if nothing can be repeated.
    var atom: Int?
    /// The last anchor, if nothing but it precedes. It matches no octet, so that repeating it changes little.
    var anchor: String?
    /// Repetitions within the last atom.
    var atomRepetitions = 1
  }

  init(_ pattern: String) throws(ProbeProblem) {
    input = Array(pattern.utf8)
    guard input.count <= Self.longest else { throw ProbeProblem("is longer than \(Self.longest) octets; shorten it") }
    guard !input.contains(0) else { throw ProbeProblem("holds a NUL, which can't be matched; leave it out") }
    try takeFlags()
    while position < input.count { try takeItem() }
    guard levels.count == 1 else { throw ProbeProblem("has a ( without its )") }
    if !hasAlternatives { text = Self.withoutIdleEnds(text, any: Self.any(dotMatchesAll, isMultiline)) }
  }

  // MARK: Flags

  /// Takes `(?ims-U)` at the start.
  private mutating func takeFlags() throws(ProbeProblem) {
    while input[position...].starts(with: "(?".utf8),
      let end = input[position...].firstIndex(of: UInt8(ascii: ")"))
    {
      let parts = input[(position + 2)..<end].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
      guard parts.count <= 2, parts.count == 1 || !parts[1].isEmpty,
        parts.allSatisfy({ $0.allSatisfy("imsU".utf8.contains) })
      else { return }
      for (flags, isOn) in zip(parts, [true, false]) {
        if flags.contains(UInt8(ascii: "i")) { ignoresCase = isOn }
        if flags.contains(UInt8(ascii: "m")) { isMultiline = isOn }
        if flags.contains(UInt8(ascii: "s")) { dotMatchesAll = isOn }
      }
      position = end + 1
    }
    if ignoresCase, input.contains(where: { $0 >= 0x80 }) {
      throw ProbeProblem("has (?i) and letters beyond ASCII, which are matched by octets; write both cases")
    }
  }

  /// An expression for what `.` stands for.
  private static func any(_ matchesAll: Bool, _ isMultiline: Bool) -> String {
    switch (matchesAll, isMultiline) {
    case (true, true): "(.|\n)"
    case (true, false), (false, true): "."
    case (false, false): "[^\n]"
    }
  }

  // MARK: Items

  private mutating func takeItem() throws(ProbeProblem) {
    let octet = input[position]
    switch octet {
    case UInt8(ascii: "("): try openGroup()
    case UInt8(ascii: ")"):
      guard levels.count > 1, let level = levels.popLast() else { throw ProbeProblem("has a ) without its (") }
      position += 1
      text += ")"
      levels[levels.count - 1].atom = 0
      levels[levels.count - 1].anchor = nil
      levels[levels.count - 1].atomRepetitions = level.repetitions
    case UInt8(ascii: "|"):
      position += 1
      text += "|"
      if levels.count == 1 { hasAlternatives = true }
      levels[levels.count - 1].atom = nil
      levels[levels.count - 1].anchor = nil
    case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"):
      try takeRepetition(String(UnicodeScalar(octet)), least: octet == UInt8(ascii: "+") ? 1 : 0, most: 1)
    case UInt8(ascii: "{"):
      if let (least, most, end) = braces() {
        position = end - 1
        guard max(least, most ?? 0) <= Self.mostRepetitions, most ?? least >= least else {
          throw ProbeProblem("repeats more than \(Self.mostRepetitions) times, or less often than at least")
        }
        let text = most == least ? "{\(least)}" : "{\(least),\(most.map(String.init) ?? "")}"
        try takeRepetition(text, least: least, most: max(1, most ?? least))
      } else {
        position += 1
        append("\\{")
      }
    case UInt8(ascii: "["): try takeBracket()
    case UInt8(ascii: "."):
      position += 1
      append(Self.any(dotMatchesAll, isMultiline))
    case UInt8(ascii: "^"), UInt8(ascii: "$"):
      position += 1
      anchor(String(UnicodeScalar(octet)))
    case UInt8(ascii: "\\"): try takeEscape()
    default: takeLiteral()
    }
  }

  /// Takes one character, of several octets beyond ASCII.
  private mutating func takeLiteral() {
    var end = position + 1
    while end < input.count, input[end] & 0xc0 == 0x80 { end += 1 }
    let character = String(decoding: input[position..<end], as: UTF8.self)
    let isSpecial = "}]".contains(character)
    position = end
    append(character.utf8.count > 1 ? "(\(character))" : isSpecial ? "\\\(character)" : character)
  }

  private mutating func openGroup() throws(ProbeProblem) {
    position += 1
    if position < input.count, input[position] == UInt8(ascii: "?") {
      let rest = input[position...]
      if rest.starts(with: "?:".utf8) {
        position += 2
      } else if rest.starts(with: "?P<".utf8), let end = rest.firstIndex(of: UInt8(ascii: ">")) {
        position = end + 1
      } else {
        throw ProbeProblem("has (? within it; flags can only stand at the start, as (?i)")
      }
    }
    text += "("
    levels.append(Level())
  }

  /// Takes a repetition of what precedes, and a `?` that makes it lazy.
  private mutating func takeRepetition(_ repetition: String, least: Int, most count: Int) throws(ProbeProblem) {
    position += 1
    let level = levels[levels.count - 1]
    if let anchor = level.anchor {
      if position < input.count, input[position] == UInt8(ascii: "?") { position += 1 }
      // An anchor that may be missing is none. POSIX would take the repetition for a character.
      if least == 0 { text.removeLast(anchor.count) }
      levels[levels.count - 1].anchor = nil
      return
    }
    guard level.atom != nil else {
      throw ProbeProblem(
        "has \(repetition) with nothing to repeat before it; write \\\(repetition.prefix(1)) for the character")
    }
    if position < input.count, input[position] == UInt8(ascii: "?") { position += 1 }
    let repetitions = level.atomRepetitions * count
    guard repetitions <= Self.mostRepetitions else {
      throw ProbeProblem("repeats more than \(Self.mostRepetitions) times in all; shorten it")
    }
    text += repetition
    levels[levels.count - 1].repetitions = max(level.repetitions, repetitions)
    levels[levels.count - 1].atom = nil
  }

  /// `{2}`, `{2,}` or `{2,4}` at the position, and the index behind it; nil if the brace is a plain character.
  private func braces() -> (least: Int, most: Int?, end: Int)? {
    guard let end = input[position...].firstIndex(of: UInt8(ascii: "}")) else { return nil }
    let parts = input[(position + 1)..<end].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    let numbers = parts.map { part in
      part.count <= 5 && part.allSatisfy { $0 &- 0x30 < 10 } ? Int(String(decoding: part, as: UTF8.self)) : nil
    }
    guard let first = numbers.first, let least = first else { return nil }
    switch parts.count {
    case 1: return (least, least, end + 1)
    case 2 where parts[1].isEmpty: return (least, nil, end + 1)
    case 2: return numbers[1].map { (least, $0, end + 1) }
    default: return nil
    }
  }

  private mutating func append(_ atom: String) {
    levels[levels.count - 1].atom = text.utf8.count
    levels[levels.count - 1].anchor = nil
    levels[levels.count - 1].atomRepetitions = 1
    text += atom
  }

  private mutating func anchor(_ anchor: String) {
    text += anchor
    levels[levels.count - 1].atom = nil
    levels[levels.count - 1].anchor = anchor
  }

  // MARK: Escapes and brackets

  private mutating func takeEscape() throws(ProbeProblem) {
    guard position + 1 < input.count else { throw ProbeProblem("ends with a \\; write \\\\ for the character") }
    let octet = input[position + 1]
    switch octet {
    case UInt8(ascii: "b"), UInt8(ascii: "B"):
      position += 2
      anchor("\\" + String(UnicodeScalar(octet)))
    case UInt8(ascii: "A"), UInt8(ascii: "z"):
      position += 2
      anchor(octet == UInt8(ascii: "A") ? "\\`" : "\\'")
    case UInt8(ascii: "Q"):
      position += 2
      takeQuoted()
    default:
      if let set = PatternOctets(class: octet) {
        position += 2
        return append(set.bracket(isMultiline: isMultiline))
      }
      append(Self.literal(try escapedOctet()))
    }
  }

  /// Takes everything up to `\E` as characters.
  private mutating func takeQuoted() {
    while position < input.count {
      if input[position...].starts(with: "\\E".utf8) {
        position += 2
        return
      }
      if input[position] < 0x80 {
        append(Self.literal(input[position]))
        position += 1
      } else {
        takeLiteral()
      }
    }
  }

  private static func literal(_ octet: UInt8) -> String {
    let text = String(UnicodeScalar(octet))
    return "\\^$.[]|()*+?{}".utf8.contains(octet) ? "\\\(text)" : text
  }

  /// The octet that an escape at the position stands for.
  mutating func escapedOctet() throws(ProbeProblem) -> UInt8 {
    let octet = input[position + 1]
    position += 2
    switch octet {
    case UInt8(ascii: "n"): return 0x0a
    case UInt8(ascii: "t"): return 0x09
    case UInt8(ascii: "r"): return 0x0d
    case UInt8(ascii: "f"): return 0x0c
    case UInt8(ascii: "v"): return 0x0b
    case UInt8(ascii: "a"): return 0x07
    case UInt8(ascii: "x"):
      var digits = input[position...].prefix(2)
      var length = 2
      if digits.first == UInt8(ascii: "{"), let end = input[position...].firstIndex(of: UInt8(ascii: "}")) {
        digits = input[(position + 1)..<end]
        length = end + 1 - position
      }
      guard digits.count >= 1, let value = Int(String(decoding: digits, as: UTF8.self), radix: 16),
        digits.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") })
      else { throw ProbeProblem("has a \\x without its two digits") }
      guard (1..<0x80).contains(value) else { throw ProbeProblem("has a \\x beyond ASCII; write the character itself") }
      position += length
      return UInt8(value)
    case UInt8(ascii: "0")...UInt8(ascii: "7"):
      // Octal. A single digit would be what a group matched, which RE2 does not have.
      let digits = input[(position - 1)...].prefix(3).prefix { $0 & ~7 == UInt8(ascii: "0") }
      let value = digits.reduce(0) { $0 * 8 + Int($1 & 7) }
      guard digits.count > 1 || value == 0 else { throw Self.withoutCounterpart(octet) }
      guard (1..<0x80).contains(value) else {
        throw ProbeProblem(
          "has \\\(String(decoding: digits, as: UTF8.self)), which is NUL or beyond ASCII; write the character itself")
      }
      position += digits.count - 1
      return UInt8(value)
    default:
      let isWord = PatternOctets(class: UInt8(ascii: "w"))?.contains(octet) ?? false
      guard octet < 0x80, !isWord || octet == UInt8(ascii: "_") else { throw Self.withoutCounterpart(octet) }
      return octet
    }
  }

  private static func withoutCounterpart(_ escaped: UInt8) -> ProbeProblem {
    ProbeProblem("has \\\(UnicodeScalar(escaped)), which has no counterpart in POSIX; write what it stands for")
  }

  private mutating func takeBracket() throws(ProbeProblem) {
    position += 1
    var set = PatternOctets()
    let isNegated = position < input.count && input[position] == UInt8(ascii: "^")
    if isNegated { position += 1 }
    var isFirst = true
    while true {
      guard position < input.count else { throw ProbeProblem("has a [ without its ]") }
      if input[position] == UInt8(ascii: "]"), !isFirst { break }
      isFirst = false
      if try takeClass(&set) { continue }
      let first = try bracketOctet()
      guard position + 1 < input.count, input[position] == UInt8(ascii: "-"), input[position + 1] != UInt8(ascii: "]")
      else {
        set.insert(first...first)
        continue
      }
      position += 1
      let last = try bracketOctet()
      guard first <= last else { throw ProbeProblem("has a range in [] whose end is before its start; exchange them") }
      set.insert(first...last)
    }
    position += 1
    if ignoresCase { set.foldCase() }
    append((isNegated ? set.inverted : set).bracket(isMultiline: isMultiline))
  }

  /// Takes `\d`, `[:digit:]` and the like within a bracket.
  private mutating func takeClass(_ set: inout PatternOctets) throws(ProbeProblem) -> Bool {
    let rest = input[position...]
    if rest.starts(with: "[:".utf8) {
      guard let end = rest.dropFirst(2).firstIndex(of: UInt8(ascii: ":")),
        input[end...].starts(with: ":]".utf8)
      else { return false }
      var name = String(decoding: input[(position + 2)..<end], as: UTF8.self)
      let isNegated = name.hasPrefix("^")
      if isNegated { name.removeFirst() }
      guard let known = PatternOctets(named: name) else {
        throw ProbeProblem(
          "has the unknown class [:\(name):]; known are \(PatternOctets.names.joined(separator: ", "))")
      }
      set.takeAll(of: isNegated ? known.inverted : known)
      position = end + 2
      return true
    }
    guard rest.first == UInt8(ascii: "\\"), rest.count > 1, let known = PatternOctets(class: input[position + 1]) else {
      return false
    }
    set.takeAll(of: known)
    position += 2
    return true
  }

  private mutating func bracketOctet() throws(ProbeProblem) -> UInt8 {
    let octet = input[position]
    guard octet < 0x80 else {
      throw ProbeProblem("has a character beyond ASCII in [], where octets are matched; write alternatives as (ä|ö)")
    }
    if octet == UInt8(ascii: "\\") {
      guard position + 1 < input.count else { throw ProbeProblem("ends with a \\; write \\\\ for the character") }
      return try escapedOctet()
    }
    position += 1
    return octet
  }

  // MARK: Ends

  /// The expression without `.*` at its ends: where there is a match with it, there is one without it. With it, a long
  /// text without a match would take time that grows with the square of the length.
  private static func withoutIdleEnds(_ text: String, any: String) -> String {
    var text = text[...]
    while text.hasPrefix(any + "*") { text = text.dropFirst(any.count + 1) }
    // A preceding backslash would make the dot a character.
    while text.hasSuffix(any + "*"), !text.dropLast(any.count + 1).hasSuffix("\\") {
      text = text.dropLast(any.count + 1)
    }
    return String(text)
  }
}
