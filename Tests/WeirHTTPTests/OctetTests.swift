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

  @Test(arguments: [("", ""), (" \t", ""), ("a", "a"), ("\t a b \t", "a b"), ("\r\n a", "\r\n a")])
  func blanksAreCutOff(text: String, rest: String) {
    #expect(FieldSyntax.trimmed(Substring(text)) == rest)
    #expect(Array(Array(text.utf8).trimmed) == Array(rest.utf8))
    Array(text.utf8).withUnsafeBytes { #expect(Array($0.trimmed) == Array(rest.utf8)) }
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
