import Testing

@testable import WeirServer

@Suite struct OctetSetTests {
  @Test func tokenIsWhatTheRFCSays() {
    let token = Set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    for octet in UInt8.min...UInt8.max { #expect(OctetSet.token.contains(octet) == token.contains(octet)) }
  }

  @Test func fieldContentIsWhatTheRFCSays() {
    for octet in UInt8.min...UInt8.max {
      let isContent = octet == 9 || (0x20...0x7e).contains(octet) || octet >= 0x80
      #expect(octet.isFieldContent == isContent)
    }
  }

  @Test func setsHoldTheirMembers() {
    let set = OctetSet("a@Z")
    #expect((UInt8.min...UInt8.max).filter(set.contains) == Array("@Za".utf8))
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
}
