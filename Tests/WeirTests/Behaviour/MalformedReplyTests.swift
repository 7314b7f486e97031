import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// Answers that are no HTTP response.
@Suite("Malformed replies", .timeLimit(.minutes(5)))
struct MalformedReplyTests {
  @Test(
    "They are the server's fault, not the URL's",
    arguments: [
      "garbage\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\r\n\r\n", "HTTP/3.7 200 OK\r\n\r\n", "HTTP/9 200 OK\r\n\r\n",
      "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 99 Low\r\n\r\n",
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ])
  func serversFault(_ text: String) async throws {
    let server = try ScriptedServer(.once(text))
    let session = Session()
    let request = session.request(server.url)
    let error = await request.plainResponse().error
    #expect(error?.urlErrorCode == .badServerResponse, "\(String(describing: error))")
    #expect(request.outcome == .transportError)
  }

  @Test("A URL that can't be requested is not the server's fault", arguments: ["ftp://h/", "http://", "file:///etc/x"])
  func callersFault(_ url: String) async throws {
    let session = Session()
    let error = await session.request(url).plainResponse().error
    #expect(error?.urlErrorCode == .unsupportedURL)
  }
}
