import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

// Receivers of stored responses.
extension CacheTransferTests {
  @Test("A stream gets a stored body piece by piece, as fast as it takes it")
  func streams() async throws {
    let body = String(repeating: "0123456789abcdef", count: 40_000)
    let hosts = try Hosts(response("200 Fine", Self.fresh, body: body))
    let session = try cachingSession(hosts)
    for round in 0..<2 {
      let stream = session.streamRequest(Self.url).streamTask()
      var received = Data()
      var pieces = 0
      for await event in stream.streamingData() {
        if let value = event.value { received.append(value) }
        pieces += 1
        await Task.yield()
      }
      #expect(received == Data(body.utf8))
      #expect(round == 0 || pieces > 8)
    }
    #expect(hosts.server.allRequests.count == 1)
    #expect(recorder.notes.entries == ["miss", "store 640000", "hit"])
  }

  @Test("An observer of the head decides about a stored response too")
  func observers() async throws {
    let hosts = try Hosts(response("200 Fine", Self.fresh, body: "stored"))
    let session = try cachingSession(hosts)
    try await get(session)
    let seen = Held<Request.ResponseDisposition>()
    let request = session.request(Self.url).onHTTPResponse {
      (_, answer: @escaping @Sendable (Request.ResponseDisposition) -> Void) in
      seen.keep(answer)
    }
    async let outcome = request.plainResponse()
    await seen.wait()
    #expect(request.data == nil)
    seen.answer(.allow)
    #expect(await text(outcome) == "stored")
    let refused = session.request(Self.url).onHTTPResponse {
      (_, answer: @escaping @Sendable (Request.ResponseDisposition) -> Void) in
      answer(.cancel)
    }
    #expect(await refused.plainResponse().error?.isExplicitlyCancelledError == true)
    #expect(hosts.server.allRequests.count == 1)
  }

  @Test(
    "Suspended, resumed and cancelled wherever it is, a request with a stored response ends once", arguments: 0..<60)
  func anywhere(_ delay: Int) async throws {
    let tagged = delay % 2 == 0
    let answers =
      tagged
      ? [response("200 Fine", Self.tagged, body: "stored"), "HTTP/1.1 304 Same\r\n\r\n"]
      : [response("200 Fine", Self.fresh, body: "stored")]
    let hosts = try Hosts(answers)
    let session = try cachingSession(hosts)
    try await get(session)
    let request = session.request(Self.url)
    async let outcome = request.plainResponse()
    for _ in 0..<delay { await Task.yield() }
    request.suspend()
    await session.loopTurn()
    if delay % 3 == 0 { request.cancel() } else { request.resume() }
    let end = await outcome
    if let error = end.error {
      #expect(error.isExplicitlyCancelledError && delay % 3 == 0)
    } else {
      #expect(text(end) == "stored")
    }
    #expect(await session.activeRequests.isEmpty)
  }
}
