import Foundation
import Testing

@testable import Weir

@Suite("Redaction of texts that come from outside") struct SecretRedactionTests {
  private func redaction(_ secrets: String...) -> SecretRedaction {
    secrets.reduce(into: SecretRedaction()) { $0.add(Array($1.utf8)) }
  }

  @Test(
    "A secret is taken out as it is, and form-encoded in any spelling",
    arguments: [
      "pa ss/w%rd+=", "pa%20ss%2Fw%25rd%2B%3D", "pa+ss%2fw%25rd%2b%3d", "pa+ss/w%25rd%2B=", "%70a ss/w%25rd%2b%3D",
    ])
  func spellings(_ text: String) {
    let redaction = redaction("pa ss/w%rd+=")
    #expect(redaction.text(text) == "<redacted>")
    #expect(redaction.text("before \(text), after \(text)") == "before <redacted>, after <redacted>")
  }

  @Test("One that holds what looks like an escape is found as it is, and encoded")
  func escapes() {
    let redaction = redaction("abc%2Fdef")
    #expect(redaction.text("abc%2Fdef abc%252Fdef") == "<redacted> <redacted>")
    #expect(redaction.text("abc/defg") == "abc/defg")
  }

  @Test("Only whole secrets of 8 octets and more")
  func length() {
    let redaction = redaction("1234567", "abcdefgh", "")
    #expect(redaction.text("1234567 abcdefgh abcdefg") == "1234567 <redacted> abcdefg")
    #expect(SecretRedaction().text("as it is\n") == "as it is\n")
  }

  @Test("The longest of several is taken out, and none shows what another leaves")
  func several() {
    let redaction = redaction("abcdefgh", "abcdefghijkl")
    #expect(redaction.text("abcdefghijklm abcdefghi") == "<redacted>m <redacted>i")
    var both = SecretRedaction()
    both.add(redaction)
    #expect(both.text("abcdefgh") == "<redacted>")
  }

  @Test("The pair is taken out as Basic has it, with its padding or without", arguments: ["u", "us", "use"])
  func basic(user: String) {
    var redaction = SecretRedaction()
    redaction.add(user: Array(user.utf8), password: Array("pass".utf8))
    let pair = Data("\(user):pass".utf8).base64EncodedString()
    #expect(redaction.text("Basic \(pair)").replacing("=", with: "") == "Basic <redacted>")
    #expect(redaction.text("Basic \(pair.replacing("=", with: ""))!") == "Basic <redacted>!")
    #expect(redaction.text("pass") == "pass", "too short to be looked for by itself")
  }

  @Test("What is shown of a text: 200 printable octets, and no part of a secret at its end")
  func printable() {
    let redaction = redaction("secret-word", "Schlüssel-Wort")
    #expect(redaction.printable("a\r\nb\u{0}c\u{1B}[31m ü") == "a??b?c?[31m ??")
    #expect(redaction.printable("Schlüssel-Wort, secret-word") == "<redacted>, <redacted>")
    let long = String(repeating: "a", count: 195)
    #expect(redaction.printable(long + "secret-word") == long + "<reda")
    #expect(redaction.printable(long + long).utf8.count == 200)
    #expect(redaction.printable("secret\u{0}-word") == "secret?-word")
  }
}
