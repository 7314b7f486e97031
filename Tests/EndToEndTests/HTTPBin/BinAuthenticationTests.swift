import Foundation
import Testing
import Weir
import WeirTestSupport

/// Basic and Digest, checked by another implementation.
@Suite("§22 HTTP authentication by httpbin", .needs(.gunicorn)) struct BinAuthenticationTests {
  @Test(arguments: ["/basic-auth/me/s3cret", "/digest-auth/auth/me/s3cret/MD5", "/digest-auth/auth/me/s3cret/SHA-256"])
  func itLetsUsIn(path: String) async throws {
    let client = try MeasuredSession()
    let url = try await Bin.url(path)
    let request = client.session.request(url).authenticate(username: "me", password: "s3cret")
    let response = await request.serializingData().response
    #expect(response.statusCode == 200, "\(response)")
    #expect(request.attemptCount == 1)
    let refused = await client.session.request(url).authenticate(username: "me", password: "wrong").serializingData()
      .response
    #expect(refused.statusCode == 401, "\(refused)")
    #expect(client.sum("weir_requests_total", ["outcome": "success"]) == 1)
    #expect(client.sum("weir_requests_total", ["outcome": "http_error"]) == 1)
  }
}

/// nginx has Basic; what it lets through goes on to a server of ours that counts.
@Suite("§22 HTTP authentication by nginx", .needs(.nginx)) struct NginxAuthenticationTests {
  @Test func aBodyIsExecutedOnce() async throws {
    let upstream = try ScriptedServer(Script(.forever([.request, .send(okResponse("done"))])))
    let directory = try TemporaryDirectory()
    let users = try directory.file("users", "me:{PLAIN}s3cret\n")
    let nginx = try await NginxServer(
      config:
        "auth_basic orders; auth_basic_user_file \(users); location / { proxy_pass http://127.0.0.1:\(upstream.port); }"
    )
    let client = try MeasuredSession()
    let body = Data(repeating: 120, count: 300_000)
    let response = await client.session.upload(body, to: nginx.url("/orders"))
      .authenticate(username: "me", password: "s3cret").serializingString().response
    #expect(response.value == "done", "\(response)")
    #expect(upstream.receivedText().components(separatedBy: "POST /orders ").count == 2)
    #expect(upstream.receivedText().hasSuffix(String(repeating: "x", count: 1_000)))
  }
}
