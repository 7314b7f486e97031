import Testing
import WeirCurl
import WeirTestSupport

@Suite(.timeLimit(.minutes(1)))
struct TransferTests {
  @Test
  func get() async throws {
    let server = try ScriptedServer(.answering(okResponse("hello", "X-Thing: a b \r\n")))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(TransferSpec(url: server.url + "a/../b?c=d"), headers: ["X-Mine: 1", "X-Empty:"])

    #expect(outcome.error == nil)
    #expect(outcome.finishes == 1)
    #expect(outcome.text == "hello")
    #expect(outcome.head?.status == 200)
    #expect(outcome.head?.version == .http1_1)
    #expect(outcome.head?.value(for: "x-thing") == "a b")
    #expect(outcome.head?.contentLength == 5)
    #expect(
      server.receivedText()
        == "GET /a/../b?c=d HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nX-Mine: 1\r\nX-Empty:\r\n\r\n")
    await rig.close()
  }
}
