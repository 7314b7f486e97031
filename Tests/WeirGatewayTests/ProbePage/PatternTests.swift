import Testing

@testable import WeirGateway

/// Regular expressions of RE2, by POSIX.
@Suite struct PatternTests {
  @Test(
    arguments: [
      // Literals and classes
      ("abc", "xabcx", true), ("abc", "ab", false), ("a.c", "abc", true), ("a.c", "a\nc", false),
      ("(?s)a.c", "a\nc", true), (#"\d{3}"#, "a123", true), (#"^\d+$"#, "12a", false),
      (#"v\w+ \d+"#, "version 12", true),
      (#"\s"#, "a\tb", true), (#"\s"#, "a\u{b}b", false), (#"\S"#, " \n", false), (#"\D"#, "12", false),
      (#"\W"#, "a_1", false), (#"[\d\-x]+z"#, "1-xz", true), ("[]a]", "]", true), ("[^]a]", "]a", false),
      (#"[\]^]"#, "^", true), ("[^a]", "\n", true), ("[[:alpha:]]", "5", false), ("[[:^digit:]]", "5", false),
      (#"[\^]"#, "a", false), ("[a-c-]", "-", true), (#"\x41\x{42}"#, "AB", true), (#"a\.b"#, "axb", false),
      (#"\Qa.b\E+"#, "a.bbb", true),
      (#"^\101\x42\60$"#, "AB0", true), (#"[\101-\103]\0611"#, "B11", true), (#"\1012"#, "A2", true),
      (#"\[\]\{\}"#, "[]{}", true), ("a{,2}", "a{,2}", true), ("a{2}b", "aab", true),
      ("a{2,}b", "ab", false), ("}x]", "}x]", true),
      // Anchors
      ("^b", "a\nb", false), ("(?m)^b$", "a\nb\nc", true), ("(?m)a[^x]b", "a\nb", true), ("(?m)a.b", "a\nb", false),
      ("(?ms)a.b", "a\nb", true), (#"\Aab\z"#, "ab", true), (#"\Ab"#, "ab", false), (#"\bcat\b"#, "a cat.", true),
      (#"\bcat\b"#, "concat", false),
      // Repetitions of anchors, which match nothing by themselves
      ("^*b", "ab", true), ("^+b", "ab", false), ("^{0,2}b", "ab", true), ("^{1}?b", "ab", false),
      ("a$*b", "ab", true), ("a$+", "ab", false), ("(^*)b", "ab", true), ("x|^*b", "ab", true), ("^*", "", true),
      (#"\b*b"#, "ab", true), (#"\A?b"#, "ab", true), (#"\b+cat"#, "concat", false),
      // Groups, repetitions, flags
      ("(?-s)a.b", "a\nb", false), ("(?s)(?-s)a.b", "a\nb", false), ("(?i-s)A.B", "axb", true),
      ("(?is-i)a", "A", false), ("(?)a", "a", true), ("(?m)(?-m)^b", "a\nb", false),
      ("(?:ab)+c", "ababc", true), ("(?P<name>a|b)c", "bc", true), ("a.*?b", "axxb", true), ("a||b", "x", true),
      ("(|a)b", "b", true), ("()x", "x", true), ("(?i)HeLLo", "hEllO", true), ("(?i)[^a]", "A", false),
      ("(?is)^<!doctype.html", "<!DOCTYPE\nHTML", true), (".*ok.*", "not ok", true), ("(?i).*OK", "fine", false),
      ("é+", "éé", true), ("^é$", "é", true), ("a|.*", "b", true),
    ])
  func matches(pattern: String, text: String, isMatch: Bool) throws {
    #expect(try Pattern(pattern).matches(text.utf8) == isMatch)
  }

  @Test(
    arguments: [
      (#"\pL"#, #"has \p, which has no counterpart in POSIX; write what it stands for"#),
      (#"a\1"#, #"has \1, which has no counterpart in POSIX; write what it stands for"#),
      (#"[\1]"#, #"has \1, which has no counterpart in POSIX; write what it stands for"#),
      (#"\8"#, #"has \8, which has no counterpart in POSIX; write what it stands for"#),
      (#"\0"#, #"has \0, which is NUL or beyond ASCII; write the character itself"#),
      (#"\377"#, #"has \377, which is NUL or beyond ASCII; write the character itself"#),
      ("^**", #"has * with nothing to repeat before it; write \* for the character"#),
      ("(?-)a", "has (? within it; flags can only stand at the start, as (?i)"),
      ("(?i-)a", "has (? within it; flags can only stand at the start, as (?i)"),
      ("(?--s)a", "has (? within it; flags can only stand at the start, as (?i)"),
      ("a(?i)b", "has (? within it; flags can only stand at the start, as (?i)"),
      ("(?=a)", "has (? within it; flags can only stand at the start, as (?i)"),
      ("(?i:a)", "has (? within it; flags can only stand at the start, as (?i)"),
      ("[ä]", "has a character beyond ASCII in [], where octets are matched; write alternatives as (ä|ö)"),
      ("(?i)ä", "has (?i) and letters beyond ASCII, which are matched by octets; write both cases"),
      ("*a", #"has * with nothing to repeat before it; write \* for the character"#),
      ("a**", #"has * with nothing to repeat before it; write \* for the character"#),
      ("(a", "has a ( without its )"), ("a)", "has a ) without its ("), ("[a", "has a [ without its ]"),
      ("[z-a]", "has a range in [] whose end is before its start; exchange them"),
      ("a\\", #"ends with a \; write \\ for the character"#),
      ("a{1001}", "repeats more than 1000 times, or less often than at least"),
      ("(a{100}){100}", "repeats more than 1000 times in all; shorten it"),
      (#"\x"#, #"has a \x without its two digits"#),
      (#"\xff"#, #"has a \x beyond ASCII; write the character itself"#),
      (
        "[[:word1:]]",
        "has the unknown class [:word1:]; known are alnum, alpha, ascii, blank, cntrl, digit, graph, lower, "
          + "print, punct, space, upper, word, xdigit"
      ),
    ])
  func refuses(pattern: String, reason: String) {
    let refusal = #expect(throws: ProbeProblem.self) { try Pattern(pattern) }
    #expect(refusal?.description == reason)
  }

  /// NUL and octets beyond ASCII are octets like others.
  @Test func matchesOctets() throws {
    let octets: [UInt8] = [0x61, 0, 0xff, 0x62]
    #expect(try Pattern("a..b").matches(octets))
    #expect(try Pattern("b$").matches(octets))
    #expect(try Pattern("a[^c]{2}b").matches(octets))
    #expect(try !Pattern("^b").matches(octets))
    #expect(try Pattern("^$").matches([]))
    #expect(try !Pattern("a").matches([]))
  }

  /// Each octet of ASCII, escaped or in a bracket, matches itself and nothing else.
  @Test func eachOctetMatchesItself() throws {
    for octet in UInt8(1)...127 {
      let character = String(UnicodeScalar(octet))
      let isWord = character.first.map { $0.isLetter || $0.isNumber } ?? false
      let escaped = isWord ? character : "\\" + character
      for pattern in [escaped, "[\(escaped)]", "[\(escaped)\\\\]"] {
        let compiled = try Pattern(pattern)
        #expect(compiled.matches([octet]), "\(pattern)")
        #expect(!compiled.matches([octet == 0x21 ? 0x22 : 0x21]), "\(pattern)")
      }
      #expect(try !Pattern("[^\(escaped)]").matches([octet]), "\(octet)")
    }
  }

  /// A long text without a match takes no time that grows with its square.
  @Test(.timeLimit(.minutes(5))) func longTexts() throws {
    let text = [UInt8](repeating: 0x61, count: 1 << 20)
    #expect(try !Pattern(".*Welcome.*").matches(text))
    #expect(try !Pattern("(?i).*welcome (?:to|in).*?").matches(text))
  }
}
