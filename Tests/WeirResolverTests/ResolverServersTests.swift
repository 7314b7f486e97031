import Testing
import WeirResolver

@Suite struct ResolverServersTests {
  @Test(arguments: [
    ("10.0.0.53", "10.0.0.53:53"),
    ("10.0.0.53:5353", "10.0.0.53:5353"),
    ("::1", "[::1]:53"),
    ("[::1]", "[::1]:53"),
    ("[::1]:53", "[::1]:53"),
    ("[2001:DB8:0:0::7]:65535", "[2001:db8::7]:65535"),
  ])
  func servers(_ text: String, _ canonical: String) throws {
    #expect(try ResolverServers(parsing: [text]).list.map(\.description) == [canonical])
  }

  @Test(arguments: [
    "", ":53", "localhost", "dns.internal:53", "10.0.0", "10.0.0.256", "10.0.0.53 ", " 10.0.0.53", "[::1", "::1]",
    "[::1]53",
    "[10.0.0.53]:53", "[]:53", "1.2.3.4:5:6", "fe80::1%eth0", "[fe80::1%eth0]:53", "x[::1]:53", "10.0.0.53\u{0}",
  ])
  func noAddress(_ text: String) {
    #expect(throws: ResolverServersError.badAddress(text)) { try ResolverServers(parsing: [text]) }
  }

  @Test(arguments: ["10.0.0.53:", "10.0.0.53:0", "10.0.0.53:+53", "10.0.0.53:65536", "[::1]:", "[::1]:-1", "[::1]:dns"])
  func noPort(_ text: String) {
    #expect(throws: ResolverServersError.badPort(text)) { try ResolverServers(parsing: [text]) }
  }

  @Test func listsHaveUpToFour() throws {
    let texts = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
    #expect(try ResolverServers(parsing: texts).list.map { "\($0.address)" } == texts)
    #expect(throws: ResolverServersError.tooMany(5)) { try ResolverServers(parsing: texts + ["10.0.0.5"]) }
    #expect(try ResolverServers(parsing: []) == .system)
  }

  @Test(arguments: [
    (
      ResolverServersError.badAddress("dns:53"),
      "'dns:53' is not a name server's address; write 10.0.0.53:53 or [::1]:53"
    ),
    (.badPort("[::1]:0"), "'[::1]:0' has no valid port; write a number from 1 to 65535, or no port for 53"),
    (.tooMany(5), "5 name servers are too many; write at most 4"),
  ])
  func errorsSayWhatToWrite(_ error: ResolverServersError, _ text: String) {
    #expect(error.description == text)
  }
}
