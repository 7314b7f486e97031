import Testing
import WeirIO

@testable import WeirServer

@Suite struct ServerTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func answersAndKeepsTheConnection() throws {
    let rig = try ServerRig { $0.respond(status: 200, body: Array($0.head.path.utf8)) }
    let client = try rig.client()
    for path in ["/", "/one", "/two"] {
      client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == 200)
      #expect(response.body == path)
      #expect(response.fields["connection"] == nil)
      #expect(response.fields["date"]?.hasSuffix(" GMT") == true)
    }
  }
}
