/// Text for manual pages, in the `man` macros of roff.
enum Roff {
  /// A text in which nothing means anything to roff.
  static func escaped(_ text: some StringProtocol) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += #"\e"#
      case "-": result += #"\-"#
      case "'": result += #"\(aq"#
      case "`": result += #"\(ga"#
      case "~": result += #"\(ti"#
      case "^": result += #"\(ha"#
      case "\"": result += #"\(dq"#
      case "\n": result += " "
      // Devices without it have no other form.
      case "…": result += "..."
      case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
      default: result += #"\[u\#(hexadecimal(scalar.value))]"#
      }
    }
    // A full stop at the begin of a line would make it a command.
    return result.hasPrefix(".") ? #"\&"# + result : result
  }

  static func bold(_ text: some StringProtocol) -> String { #"\fB\#(escaped(text))\fR"# }

  static func italic(_ text: some StringProtocol) -> String { #"\fI\#(escaped(text))\fR"# }

  /// A text in which backticks mark code and asterisks emphasis, and which may link to documents: code is bold, and a
  /// link is shown by its target.
  static func markdown(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let next = rest.firstIndex(where: { "`*[".contains($0) }) {
      result += plain(rest[..<next], after: result)
      rest = rest[next...]
      if let (code, tail) = span(rest, "`", "`") {
        result += bold(code)
        rest = tail
      } else if let (words, tail) = span(rest, "*", "*") {
        result += italic(words)
        rest = tail
      } else if let (_, tail) = span(rest, "[", "]"), let (target, end) = span(tail, "(", ")") {
        result += italic(target)
        rest = end
      } else {
        result += escaped(rest.prefix(1))
        rest = rest.dropFirst()
      }
    }
    return result + plain(rest, after: result)
  }

  /// Within a line a full stop needs no care.
  private static func plain(_ text: Substring, after line: String) -> String {
    let text = escaped(text)
    return line.isEmpty || !text.hasPrefix(#"\&."#) ? text : String(text.dropFirst(2))
  }

  /// The text between two marks, of which the first begins `text`, and the text behind them.
  private static func span(
    _ text: Substring, _ open: Character, _ close: Character
  ) -> (inner: Substring, rest: Substring)? {
    guard text.first == open, let end = text.dropFirst().firstIndex(of: close) else { return nil }
    return (text.dropFirst()[..<end], text[text.index(after: end)...])
  }

  /// At least four digits.
  private static func hexadecimal(_ value: UInt32) -> String {
    let digits = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

extension Roff {
  /// The lines of a heading.
  static func section(_ title: String) -> String { ".SH \"\(escaped(title.uppercased()))\"" }

  /// An entry of a list: its word, already escaped, and its text.
  static func entry(_ word: String, _ text: String) -> String { ".TP\n\(word)\n\(text)" }

  /// Lines that are shown as they are.
  static func example(_ text: String) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { escaped($0) }
    return ([".nf", ".RS 4"] + lines + [".RE", ".fi"]).joined(separator: "\n")
  }
}
