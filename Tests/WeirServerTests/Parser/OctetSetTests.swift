import Testing

@testable import WeirServer

@Suite struct OctetSetTests {
  private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

  @Test(arguments: [
    (OctetSet.token, letters + "!#$%&'*+-.^_`|~"),
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
}
