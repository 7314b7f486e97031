import Testing
import WeirIO
import WeirServer

@Suite struct RouterTests {
  @Test(
    arguments: [
      ("GET /", 200, nil), ("GET /?query", 200, nil), ("POST /", 200, nil), ("DELETE /", 405, "GET, HEAD, POST"),
      ("PUT /x", 405, "PUT2"), ("GET /x", 405, "PUT2"), ("GET /none", 404, nil), ("GET /x/", 404, nil),
      ("GET http://h", 200, nil), ("OPTIONS *", 404, nil), ("HEAD /x", 405, "PUT2"),
    ] as [(String, Int, String?)])
  func routes(line: String, status: Int, allow: String?) throws {
    let rig = try ServerRig(Self.router)
    let client = try rig.client()
    client.send("\(line) HTTP/1.1\r\nHost: a\r\n\r\n")
    let response = try #require(client.response(toHead: line.hasPrefix("HEAD")))
    #expect(response.status == status)
    #expect(response.fields["allow"] == allow)
  }

  @Test func headIsGetWithoutBody() throws {
    let rig = try ServerRig(Self.router)
    let client = try rig.client()
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(client.response(toHead: true)?.fields["content-length"] == "5")
  }

  private static var router: Router {
    var router = Router()
    router.on("GET", "/") { $0.respond(status: 200, text: "hello") }
    router.on("POST", "/") { $0.respond(status: 200) }
    router.on("PUT2", "/x") { $0.respond(status: 200) }
    return router
  }
}
