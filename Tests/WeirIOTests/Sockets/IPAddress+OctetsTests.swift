import Testing
import WeirIO

@Suite struct IPAddressOctetsTests {
  @Test(arguments: [
    "192.0.2.1", "255.255.255.255", "0.0.0.0", "2001:DB8::1", "::", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8",
    "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "127.1", "010.0.0.1", "0x7f.0.0.1", "[::1]", "fe80::1%1", "",
    " 1.2.3.4", "1.2.3.4 ", "1.2.3.4\0", "\0", ":", "1::2::3", "1.2.3.4:5", "12345::", "é", "1.2.3.4.5",
    "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
  ])
  func octetsAreReadAsTextIs(text: String) {
    #expect(Array(text.utf8).withUnsafeBytes { IPAddress(octets: $0) } == IPAddress(text))
  }

  @Test(arguments: [
    ("::ffff:10.0.0.1", "10.0.0.1"), ("::fffe:10.0.0.1", "::fffe:a00:1"), ("64:ff9b::10.0.0.1", "64:ff9b::a00:1"),
    ("1::ffff:10.0.0.1", "1::ffff:a00:1"), ("::10.0.0.1", "::10.0.0.1"), ("10.0.0.1", "10.0.0.1"),
  ])
  func onlyMappedAddressesAreIPv4(text: String, unmapped: String) {
    #expect(IPAddress(text)?.unmapped.description == unmapped)
  }
}
