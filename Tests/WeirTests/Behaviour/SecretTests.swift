import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// Passwords of URLs are in no text and no error.
@Suite("Secrets in texts", .timeLimit(.minutes(1)))
struct SecretTests {
  private static func withPassword(_ url: String) -> String { url.replacing("http://", with: "http://me:hunter2@") }

  /// Whether the error, or whatever is behind it, speaks of the password.
  private static func tells(_ error: any Error) -> Bool {
    let url = error as? URLError
    let texts = [
      "\(error)", String(reflecting: error), error.localizedDescription, "\((error as NSError).userInfo)",
      url?.failingURL?.absoluteString ?? "",
    ]
    if texts.contains(where: { $0.contains("hunter2") }) { return true }
    return error.asWeirError?.underlyingError.map(tells) ?? false
  }

  @Test("A request's description, before, during and after")
  func description() async throws {
    let server = try answering(okResponse("1"))
    let session = Session()
    let request = session.request(Self.withPassword(server.url))
    #expect(await request.plainResponse().error == nil)
    #expect(request.description == "GET http://<redacted>@127.0.0.1:\(server.port)/ (200)")
  }

  @Test(
    "Errors of every stage",
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "garbage\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: ftp://me:hunter2@h/\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: http://me:hunter2@127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "",
    ])
  func errors(_ reply: String) async throws {
    let server = try ScriptedServer(.once(reply))
    let session = Session()
    let response = await session.request(Self.withPassword(server.url)).plainResponse()
    let error = try #require(response.error)
    #expect(!Self.tells(error), "\(error)")
    #expect((error.underlyingError as? URLError)?.failingURL != nil)
    #expect(!response.debugDescription.contains("hunter2"))
  }

  @Test("Deadline, cancelled task, unsupported scheme, no URL")
  func errorsOfOurOwn() async throws {
    let hole = try BlackHole()
    let session = Session()
    let late = await session.request(Self.withPassword(hole.url)).deadline(0.05).plainResponse()
    let request = session.request(Self.withPassword(hole.url))
    request.onURLSessionTaskCreation { $0.cancel() }
    let scheme = await session.request("ftp://me:hunter2@h/").plainResponse()
    let noURL = await session.request("http://me:hunter2@[bad/").plainResponse()
    for response in [late, scheme, noURL] {
      let error = try #require(response.error)
      #expect(!Self.tells(error), "\(error)")
    }
    request.cancel()
  }
}
