import Testing
import WeirHTTP

@Suite struct OctetTests {
  private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

  @Test(arguments: [
    (OctetSet.token, letters + "!#$%&'*+-.^_`|~"),
    (OctetSet.unreserved, letters + "-._~"), (OctetSet.segment, letters + "-._~!$&'()*+,;=:@"),
    (OctetSet.registeredName, letters + "-._~!$&'()*+,;=%"),
    (OctetSet.ipLiteral, "ABCDEFabcdef0123456789:."),
  ])
  func masksAreWhatTheRFCsSay(set: OctetSet, members: String) {
    for octet in UInt8.min...UInt8.max { #expect(set.contains(octet) == members.utf8.contains(octet)) }
  }

  @Test func fieldContentIsWhatTheRFCSays() {
    for octet in UInt8.min...UInt8.max {
      let isContent = octet == 9 || (0x20...0x7e).contains(octet) || octet >= 0x80
      #expect(octet.isFieldContent == isContent)
    }
  }

  @Test(arguments: [
    ("Content-LENGTH", true), ("content-length", true), ("content\rlength", false), ("content-lengt", false),
    ("content-lengthy", false),
  ])
  func caseIsIgnoredForLettersAlone(text: String, isSame: Bool) {
    let octets = Array(text.utf8)
    let spells = octets.span.spells("content-length")
    #expect(spells == isSame)
  }

  @Test(arguments: [
    ("chunk", true), ("a chunk", true), ("chunchunk", true), ("chunks of it", true), ("", false), ("chun", false),
    ("Chunk", false), ("chun k", false), ("a longer text without it: chun", false),
  ])
  func textsAreFoundAnywhere(text: String, isFound: Bool) {
    #expect(text.withOctets { $0.contains("chunk") } == isFound)
  }

  @Test func everyOtherOctetDiffers() {
    let text: StaticString = "https://x-envoy9.a"
    let letters = text.withUTF8Buffer { Array($0) }
    for index in letters.indices {
      for octet in UInt8.min...UInt8.max {
        var octets = letters
        octets[index] = octet
        let begins = octets.withUnsafeBytes { $0.begins(with: text) }
        #expect(begins == (octet.lowercased == letters[index]))
      }
    }
  }

  /// Each octet at each place of values of each length: eight octets are looked at at once, and the rest with them.
  @Test(arguments: 0...26) func controlsAreFoundAnywhere(length: Int) {
    for index in 0..<length {
      for octet in UInt8.min...UInt8.max {
        var octets = [UInt8](repeating: UInt8(ascii: "a"), count: length + 8)
        octets[index + 4] = octet
        // What lies around the value is none of it.
        for outside in [3, length + 4] { octets[outside] = 0 }
        let (hasBreak, hasControl) = octets.withUnsafeBytes {
          ($0.hasBreak(in: 4..<length + 4), $0.hasControl(in: 4..<length + 4))
        }
        #expect(hasBreak == (octet == 0 || octet.isLineBreak), "octet \(octet) at \(index)")
        #expect(hasControl == !octet.isFieldContent, "octet \(octet) at \(index)")
      }
    }
  }

  @Test(arguments: [("", ""), (" \t", ""), ("a", "a"), ("\t a b \t", "a b"), ("\r\n a", "\r\n a")])
  func blanksAreCutOff(text: String, rest: String) {
    #expect(FieldSyntax.trimmed(Substring(text)) == rest)
    Array(text.utf8).withUnsafeBytes { #expect(Array($0.trimmed) == Array(rest.utf8)) }
    let octets = Array(text.utf8)
    let place = octets.span.trimmed(0..<octets.count)
    #expect(Array(octets[place]) == Array(rest.utf8))
  }

  @Test(
    arguments: [
      ("0", 0), ("00042", 42), ("1234567890", 1_234_567_890), ("9223372036854775806", .max - 1),
      ("9223372036854775807", .max), ("9223372036854775808", .max), ("99999999999999999999999999", .max),
      ("10000000000000000000000000000000000000000000000000000000000000005", .max),
      ("", nil), ("-1", nil), ("+1", nil), ("1 ", nil), (" 1", nil), ("1.0", nil), ("0x1", nil), ("1a", nil),
      ("99999999999999999999x", nil), ("\u{661}", nil), ("1:", nil), ("1/", nil),
    ] as [(String, Int64?)])
  func decimals(text: String, number: Int64?) {
    #expect(text.withOctets { $0.decimal } == number)
  }

  @Test(
    arguments: [
      ("aXbX", 0, 1), ("aXbX", 1, 1), ("aXbX", 2, 3), ("aXbX", 4, nil), ("aXbX", 9, nil), ("", 0, nil), ("ab", 0, nil),
    ] as [(String, Int, Int?)])
  func places(text: String, start: Int, place: Int?) {
    let octets = Array(text.utf8)
    let found = octets.span.firstIndex(of: UInt8(ascii: "X"), from: start)
    #expect(found == place)
  }

  @Test(arguments: [
    ("abc", "ABC", true, false), ("abc", "abc", true, true), ("ab", "abc", false, false), ("", "", true, true),
    ("a[", "a{", false, false), ("@", "`", false, false),
  ])
  func comparing(left: String, right: String, isSame: Bool, isEqual: Bool) {
    let (one, other) = (Array(left.utf8), Array(right.utf8))
    let sameSpan = one.span.equalsIgnoringCase(other.span)
    let equalSpan = one.span.equals(other.span)
    #expect(left.withOctets { left in right.withOctets { left.equalsIgnoringCase($0) } } == isSame)
    #expect(sameSpan == isSame)
    #expect(equalSpan == isEqual)
    #expect(FieldSyntax.isSameName(left, right) == isSame)
  }

  @Test(arguments: [("ABCz", "abcz"), ("abc", "abc"), ("É@[", "É@["), ("", "")])
  func lowerCase(text: String, lower: String) {
    #expect(FieldSyntax.lowercased(text) == lower)
    #expect(text.withOctets { FieldSyntax.lowercased($0) } == lower)
  }

  @Test(arguments: [
    ("GET", true), ("", false), ("a b", false), ("a\n", false), ("ü", false), ("!#$%&'*+-.^_`|~09azAZ", true),
    ("a:", false),
  ])
  func tokens(text: String, isToken: Bool) {
    #expect(FieldSyntax.isToken(text) == isToken)
  }

  @Test(arguments: [
    ("", true), ("a b\tc", true), ("\u{fc}", true), (" a", false), ("a\t", false), ("a\u{7f}", false), ("a\rb", false),
    ("\0", false), ("\u{1f}", false),
  ])
  func values(text: String, isValue: Bool) {
    #expect(FieldSyntax.isValue(text.utf8) == isValue)
  }
}
