import Testing

@testable import WeirTransport

@Suite struct RedactionTests {
  @Test(arguments: [
    ("http://h/p", "http://h/p"),
    ("http://u:p@h/p", "http://<redacted>@h/p"),
    ("at http://u:p@h:80/?a=b@c and https://x@y#f", "at http://<redacted>@h:80/?a=b@c and https://<redacted>@y#f"),
    ("http://u:p'w@h", "http://<redacted>@h"),
    ("http://u@p@h", "http://<redacted>@h"),
    ("http://u:p@\u{301}h/\u{301}@x", "http://<redacted>@\u{301}h/\u{301}@x"),
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
    ("http://u:p@\u{301}[?\u{301}key=1", "http://<redacted>@\u{301}[?…"),
  ])
  func invalidURLs(text: String, redacted: String) {
    #expect(Redaction.invalidURL(text) == redacted)
  }

  @Test(arguments: [
    ("no /p?key=1 here", "no /p?… here"), ("\"/p?\u{301}key=1\"", "\"/p?…\""), ("why? because", "why? because"),
  ])
  func queries(text: String, redacted: String) {
    #expect(Redaction.errorText(text) == redacted)
  }

  @Test(arguments: [
    ("Authorization", true), ("proxy-authorization", true), ("COOKIE", true), ("Set-Cookie", true), ("Accept", false),
  ])
  func secretFields(name: String, isSecret: Bool) {
    #expect(Redaction.isSecretField(name) == isSecret)
  }
}
