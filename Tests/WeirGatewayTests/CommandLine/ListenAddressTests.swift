import Testing
import WeirGateway

@Suite struct ListenAddressTests {
  @Test(
    arguments: [
      ("127.0.0.1:8080", "127.0.0.1:8080"), (":80", ":80"), ("[::]:1", "[::]:1"),
      ("LocalHost:65535", "127.0.0.1:65535"),
      ("0.0.0.0:0", "0.0.0.0:0"), ("", nil), ("80", nil), ("host:80", nil), ("::1:80", nil), ("[::1]", nil),
      ("127.0.0.1:", nil), ("127.0.0.1:65536", nil), ("127.0.0.1:+1", nil), ("127.1:80", nil), ("[]:1", nil),
      ("127.0.0.1\u{0}:80", nil),
    ] as [(String, String?)])
  func parses(text: String, expected: String?) {
    #expect(ListenAddress(parsing: text)?.description == expected)
  }
}
