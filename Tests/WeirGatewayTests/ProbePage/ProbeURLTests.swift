import Testing

@testable import WeirGateway

@Suite struct ProbeURLTests {
  @Test(
    "What is escaped stays as it is, what has to be is escaped once",
    arguments: [
      ("http://h/x?f[a]=b%20c", "http://h/x?f%5Ba%5D=b%20c"), ("h/x?a=100%&b=%20", "http://h/x?a=100%25&b=%20"),
      ("h/a b%20", "http://h/a%20b%20"), ("h/\u{fc}\"|{%7b}", "http://h/%C3%BC%22%7C%7B%7b%7D"),
      ("http://[::1]:8080/a[%20]#%20[", "http://[::1]:8080/a%5B%20%5D"), ("h/a\r\nb%20", "http://h/a%0D%0Ab%20"),
      ("h?a%20[", "http://h/?a%20%5B"),
    ])
  func targets(_ target: String, _ text: String) {
    #expect(ProbeURL(target: target)?.text == text)
  }

  @Test(
    arguments: [
      ("/x?f[a]=b%20c", "http://h/x?f%5Ba%5D=b%20c", true), ("y z%20", "http://h/a/y%20z%20", true),
      ("//i/\u{fc}%|", "http://i/%C3%BC%25%7C", false), ("http://[::1]/[%20", "http://[::1]/%5B%20", false),
    ])
  func redirects(_ location: String, _ text: String, _ isRelative: Bool) throws {
    let next = try #require(ProbeURL(target: "http://h/a/b")?.redirect(to: location))
    #expect(next.url.text == text && next.isRelative == isRelative)
  }

  @Test("A user and a password are decoded once, whatever else the target has")
  func credentials() {
    let credential = ProbeURL(target: "http://u%40x:p%25[@h/[")?.credential
    #expect(credential?.user == "u@x" && credential?.password == "p%[")
  }
}
