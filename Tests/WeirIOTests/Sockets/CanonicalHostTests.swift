import Testing
import WeirIO

@Suite struct CanonicalHostTests {
  @Test(
    arguments: [
      ("127.1", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1"), ("2130706433", "127.0.0.1"),
      ("127.0.0.1", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("[0:0:0:0:0:0:0:1]", "::1"), ("0::1", "::1"),
      ("[::FFFF:127.0.0.1]", "::ffff:127.0.0.1"), ("::ffff:7f00:1", "::ffff:127.0.0.1"),
      ("[FE80::01%25Eth0]", "fe80::1%Eth0"), ("fe80::1%Eth0", "fe80::1%Eth0"), ("fe80::1%25", "fe80::1%25"),
      ("[fe80::1%25250]", "fe80::1%250"), ("fe80::1%250", "fe80::1%250"),
      ("API.Example.com", "api.example.com"), ("Example.com.", "example.com."), ("1.2.3.4.5", "1.2.3.4.5"),
      ("256.1.1.1", "256.1.1.1"), ("a.1", "a.1"), ("\u{212A}.test", "\u{212A}.test"), (".", "."), ("", ""),
    ])
  func spellings(host: String, text: String) {
    #expect(CanonicalHost(host).text == text)
    #expect(CanonicalHost(text).text == text)
  }

  @Test(arguments: [
    ("example.com.", "example.com"), ("example.com", "example.com"), ("example.com..", "example.com."),
    ("127.0.0.1.", "127.0.0.1"), ("::1", "::1"), (".", "."), ("", ""),
  ])
  func finalDots(host: String, text: String) {
    #expect(CanonicalHost(host).withoutFinalDot == text)
  }

  @Test(arguments: [
    ("127.1", "127.0.0.1"), ("[0::1]", "[::1]"), ("::1", "[::1]"), ("fe80::1%eth0", "[fe80::1%25eth0]"),
    ("[fe80::1%25eth0]", "[fe80::1%25eth0]"), ("Example.com.", "example.com."), ("[v1.x]", "[v1.x]"),
    ("[::1", "[::1"),
  ])
  func inURLs(host: String, text: String) {
    #expect(CanonicalHost(host).inURL == text)
    #expect(CanonicalHost(text).inURL == text)
  }
}
