import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

/// Bodies that nobody wants are not waited for.
@Suite("Unwanted bodies", .timeLimit(.minutes(5)))
struct UnwantedBodyTests {
  private static let bodies = [
    "Content-Length: 10\r\n\r\nhalf", "Content-Length: 10\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    "\r\n", "Content-Length: 1000000000\r\n\r\nmuch more",
  ]

  @Test("A redirect whose body never comes is followed at once", arguments: bodies)
  func redirect(_ body: String) async throws {
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 302 Found\r\nLocation: /next\r\n\(body)"), .awaitClose),
      .answering(okResponse("there")))
    var urlRequest = try URLRequest(url: server.url, method: .get)
    urlRequest.timeoutInterval = 40
    let session = Session()
    let request = session.request(urlRequest)
    #expect(await request.serializingString().response.value == "there")
    #expect(request.metrics?.redirectCount == 1)
    #expect(try #require(request.duration) < 20)
  }

  @Test("One that comes a little later leaves a connection to go on with")
  func reuse() async throws {
    // One of several: a server that gets no processor for a quarter of a second is not waited for.
    var connectionCount = 0
    for _ in 0..<5 where connectionCount != 1 {
      let gate = Gate()
      let server = try ScriptedServer(
        Script(
          .head, .send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 4\r\n\r\n"), .wait(gate),
          .send("late"), .head, .send(okResponse("there")), .awaitClose))
      let handler = Redirector.modify { _, urlRequest, _ in
        gate.open()
        return urlRequest
      }
      let session = Session(redirectHandler: handler)
      let response = await session.request(server.url).serializingString().response
      #expect(response.value == "there")
      connectionCount = server.connectionCount
    }
    #expect(connectionCount == 1)
  }

  @Test("A suspended request follows when it is resumed")
  func suspended() async throws {
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 4\r\n\r\n"), .awaitClose),
      .answering(okResponse("there")))
    let slot = RequestSlot()
    let handler = Redirector.modify { _, urlRequest, _ in
      slot.request?.suspend()
      return urlRequest
    }
    let recorder = EventRecorder()
    let session = Session(redirectHandler: handler, eventMonitors: [recorder])
    let request = session.request(server.url)
    slot.request = request
    let task = request.serializingString()
    await recorder.events.wait(for: "suspendTask")
    try await eventually("the connection is given up") { server.closedByClientCount == 1 }
    #expect(server.connectionCount == 1)
    request.resume()
    #expect(await task.response.value == "there")
    slot.request = nil
  }
}
