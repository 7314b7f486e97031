import Foundation
import Testing
import WeirCurl
import WeirTestSupport
import WeirTransport

@testable import Weir

/// One host has one spelling: what is kept for it, and what it is sent, doesn't depend on how a URL writes it.
@Suite(.timeLimit(.minutes(5)))
struct HostSpellingTests {
  @Test(
    "All forms of an address are one destination, one connection and one Host",
    arguments: [
      (["127.0.0.1", "127.1", "0x7f.1", "2130706433"], "127.0.0.1"),
      (["[::1]", "[0:0:0:0:0:0:0:1]"], "[::1]"),
      (["[::ffff:1.2.3.4]", "[::FFFF:1.2.3.4]", "[::ffff:102:304]"], "[::ffff:1.2.3.4]"),
    ])
  func addresses(forms: [String], host: String) async throws {
    let hosts = try Hosts(forms.map { _ in okResponse("ok") })
    let table = DestinationTable()
    let session = try hosts.session(shared: table)
    for form in forms { #expect(await session.request("http://\(form)/").plainResponse().error == nil) }
    #expect(table.count == 1)
    #expect(hosts.server.connectionCount == 1)
    #expect(hosts.server.allRequests.map { $0.value(of: "Host") } == forms.map { _ in host })
  }

  @Test("A final dot makes no other destination; connection and Host keep it")
  func finalDot() async throws {
    let names = ["a.test", "a.test.", "A.test."]
    let hosts = try Hosts(names.map { _ in okResponse("ok") })
    let table = DestinationTable()
    let session = try hosts.session(shared: table)
    for name in names { #expect(await session.request("http://\(name)/").plainResponse().error == nil) }
    #expect(table.count == 1)
    // A host with capitals is libcurl's to read, and has a connection of libcurl's.
    #expect(hosts.server.connectionCount == (HTTP1EngineChoice.standard == .own ? 3 : 2))
    #expect(hosts.server.allRequests.map { $0.value(of: "Host")?.lowercased() } == ["a.test", "a.test.", "a.test."])
  }

  @Test(
    "A stored credential is for the host in every spelling",
    arguments: [
      ("127.0.0.1", "http://127.1/"), ("127.1", "http://127.0.0.1/"), ("::1", "http://[0::1]/"),
      ("a.test", "http://a.test./"), ("A.test.", "http://a.test/"),
    ])
  func credential(stored: String, url: String) async throws {
    let space = URLProtectionSpace(
      host: stored, port: 80, protocol: "http", realm: "staff",
      authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    let storage = URLCredentialStorage()
    storage.setDefaultCredential(URLCredential(user: "me", password: "s3cret", persistence: .forSession), for: space)
    let challenge = response("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"staff\""])
    let hosts = try Hosts(challenge, okResponse("in"))
    let session = try hosts.session { $0.urlCredentialStorage = storage }
    #expect(await session.request(url).plainResponse().response?.statusCode == 200)
    #expect(hosts.server.allRequests.map { $0.has("Authorization") } == [false, true])
  }

  @Test("What is stored is for one Host, in every form of an address")
  func cache() throws {
    func key(_ url: String) throws -> String {
      let url = try #require(URL(string: url))
      return try #require(HopRequest(URLRequest(url: url)).cacheURL)
    }
    #expect(try key("http://127.1/x") == key("http://127.0.0.1:80/x"))
    #expect(try key("http://[0::1]/x") == "http://[::1]:80/x")
    #expect(try key("http://a.test./x") != key("http://a.test/x"))
  }
}
