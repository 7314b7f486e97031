import Testing

@testable import Weir

@Suite struct RedactionTests {
  @Test(arguments: [
    ("http://h/p", "http://h/p"),
    ("http://u:p@h/p", "http://<redacted>@h/p"),
    ("at http://u:p@h:80/?a=b@c and https://x@y#f", "at http://<redacted>@h:80/?a=b@c and https://<redacted>@y#f"),
    ("http://u:p'w@h", "http://<redacted>@h"),
    ("http://u@p@h", "http://<redacted>@h"),
    ("mail a@b", "mail a@b"),
    ("//u:p@h", "//<redacted>@h"),
    ("", ""), ("//", "//"), ("@", "@"),
  ])
  func urls(text: String, redacted: String) {
    #expect(Redaction.urls(in: text) == redacted)
  }

  @Test(arguments: [
    ("http://u:p@[bad", "http://<redacted>@[bad"),
    ("http:/u:p@h", "<redacted>@h"),
    ("http://a b", "http://a b"),
    ("http://u:p/x@h", "http://<redacted>@h"),
  ])
  func invalidURLs(text: String, redacted: String) {
    #expect(Redaction.invalidURL(text) == redacted)
  }

  @Test(arguments: [
    ("Authorization", true), ("proxy-authorization", true), ("COOKIE", true), ("Set-Cookie", true), ("Accept", false),
  ])
  func secretFields(name: String, isSecret: Bool) {
    #expect(Redaction.isSecretField(name) == isSecret)
  }
}
