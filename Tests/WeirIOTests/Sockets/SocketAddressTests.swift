import Testing
import WeirIO

@Suite struct SocketAddressTests {
  @Test(
    arguments: [
      ("127.0.0.1:8080", .v4(0x7f00_0001, port: 8080), "127.0.0.1:8080"),
      ("0.0.0.0:0", .v4(0, port: 0), "0.0.0.0:0"),
      ("localhost:9464", .v4(0x7f00_0001, port: 9464), "127.0.0.1:9464"),
      (":9464", .v6(high: 0, low: 0, port: 9464), "[::]:9464"),
      ("[::]:65535", .v6(high: 0, low: 0, port: 65535), "[::]:65535"),
      ("[::1]:9464", .v6(high: 0, low: 1, port: 9464), "[::1]:9464"),
      ("[2001:DB8::1:2]:80", .v6(high: 0x2001_0db8_0000_0000, low: 0x1_0002, port: 80), "[2001:db8::1:2]:80"),
      ("unix:/run/a b.sock", .unix(path: "/run/a b.sock"), "unix:/run/a b.sock"),
      ("unix:relative", .unix(path: "relative"), "unix:relative"),
    ] as [(String, SocketAddress, String)])
  func parsing(text: String, address: SocketAddress, description: String) throws {
    #expect(try SocketAddress(parsing: text) == address)
    #expect(address.description == description)
    #expect(try SocketAddress(parsing: description) == address)
  }

  @Test(
    arguments: [
      ("", .missingPort), ("localhost", .missingPort), ("127.0.0.1", .missingPort), ("localhost:", .badPort),
      (":", .badPort), (":+80", .badPort), (":-1", .badPort), (":65536", .badPort), (": 80", .badPort),
      (":８０", .badPort),
      ("example.com:80", .badHost), ("1.2.3:80", .badHost), ("1.2.3.4.5:80", .badHost), ("::1:80", .badHost),
      ("[::1:80", .badHost), ("[1.2.3.4]:80", .badHost), ("[]:80", .badHost), ("127.0.0.1 :80", .badHost),
      ("unix:", .badPath), ("unix:\(String(repeating: "x", count: 108))", .badPath), ("unix:/a\0b", .badPath),
    ] as [(String, SocketAddressError.Problem)])
  func refused(text: String, problem: SocketAddressError.Problem) {
    let error = #expect(throws: SocketAddressError.self) { try SocketAddress(parsing: text) }
    #expect(error?.problem == problem)
    #expect(error?.description.contains("'\(text)'") == true)
  }

  @Test(
    arguments: [
      (":80", "127.0.0.1:80", true), (":80", "0.0.0.0:80", true), ("[::]:80", "[::1]:80", true),
      ("0.0.0.0:80", "127.0.0.1:80", true), ("127.0.0.1:80", "127.0.0.1:80", true), ("unix:/a", "unix:/a", true),
      (":80", "127.0.0.1:81", false), (":0", "127.0.0.1:0", false), ("0.0.0.0:80", "[::1]:80", false),
      ("127.0.0.1:80", "127.0.0.2:80", false), ("[::1]:80", "127.0.0.1:80", false), (":80", "unix:/a", false),
      ("unix:/a", "unix:/b", false),
    ])
  func overlaps(one: String, other: String, isSo: Bool) throws {
    let (one, other) = (try SocketAddress(parsing: one), try SocketAddress(parsing: other))
    #expect(one.overlaps(other) == isSo)
    #expect(other.overlaps(one) == isSo)
  }

  @Test func parts() {
    #expect(SocketAddress.v6(high: 0, low: 1, port: 9).host == "::1")
    #expect(SocketAddress.v6(high: 0xfe80_0000_0000_0000, low: 1, scope: 2, port: 9).host == "fe80::1%2")
    #expect(SocketAddress.unix(path: "/a").host == "/a")
    #expect(SocketAddress.unix(path: "/a").port == nil)
    #expect(SocketAddress.unnamed.host == "")
    #expect(SocketAddress.any(port: 7).port == 7)
  }
}
