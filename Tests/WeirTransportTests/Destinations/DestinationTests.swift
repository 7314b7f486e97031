import Testing
import WeirTransport

@Suite struct DestinationTests {
  @Test(
    "Spellings of one host are one destination",
    arguments: [
      (["127.0.0.1", "127.1", "0x7f.1", "2130706433", "127.0.0.1."], "127.0.0.1", "http://127.0.0.1:80"),
      (["::1", "[::1]", "[0:0:0:0:0:0:0:1]", "0::1"], "::1", "http://[::1]:80"),
      (["example.com", "Example.COM", "example.com."], "example.com", "http://example.com:80"),
    ])
  func spellings(hosts: [String], host: String, description: String) {
    let destinations = hosts.map { Destination(scheme: "HTTP", host: $0, port: 80) }
    #expect(Set(destinations).count == 1)
    for destination in destinations {
      #expect(destination.host == host)
      #expect(destination.description == description)
    }
  }

  @Test("Other hosts are others")
  func others() {
    let hosts = [
      "127.0.0.1", "::ffff:127.0.0.1", "127.0.0.2", "::1", "localhost", "fe80::1%1", "fe80::1%2", "a.", "a..",
    ]
    #expect(Set(hosts.map { Destination(scheme: "http", host: $0, port: 80) }).count == hosts.count)
  }
}
