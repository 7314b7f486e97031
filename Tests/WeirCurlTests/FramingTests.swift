import Testing
import WeirCurl
import WeirHTTP
import WeirTestSupport

/// Heads after which nobody can be sure where the response ends.
@Suite(.timeLimit(.minutes(5)))
struct FramingTests {
  private func exchange(_ response: String, method: String = "GET") async throws -> Outcome {
    let server = try ScriptedServer(.once(response))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: method))
    #expect(outcome.finishes == 1)
    await rig.close()
    #expect(rig.counts.open == 0)
    return outcome
  }

  @Test(arguments: [
    "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: gzip", "Transfer-Encoding: identity",
    "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", "transfer-encoding:\tchunked, identity",
    "Transfer-Encoding: chunked;q=1", "Transfer-Encoding: \"chunked\"", "Transfer-Encoding:", "Transfer-Encoding: ,",
    "Transfer-Encoding: chunked,", "Transfer-Encoding: xchunked", "Transfer-Encoding : chunked",
    "Transfer-Encoding\t: chunked", "Transfer-Encoding: chunked\r\n , gzip",
  ])
  func codings(field: String) async throws {
    for method in ["GET", "HEAD", "POST"] {
      let outcome = try await exchange("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n3\r\nabc\r\n0\r\n\r\n", method: method)
      #expect(outcome.error?.kind == .refusedTransferEncoding)
      #expect(outcome.heads.isEmpty)
      #expect(outcome.body.isEmpty)
    }
  }

  @Test(arguments: ["Transfer-Encoding: chunked", "transfer-ENCODING:CHUNKED", "Transfer-Encoding: \t chunked \t"])
  func chunked(field: String) async throws {
    let outcome = try await exchange("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    #expect(outcome.error == nil)
    #expect(outcome.text == "abc")
  }

  @Test
  func codingsOfInterimHeads() async throws {
    let interim = "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
    let outcome = try await exchange(interim + okResponse("abc"))
    #expect(outcome.error == nil)
    #expect(outcome.text == "abc")
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: 3abc\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n 0\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: 0x3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999999\r\n\r\nabc",
    "HTTP/2 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/2 200 \r\ncontent-length: 3\r\n\r\nabc",
    "HTTP/3 200 \r\ncontent-length: 3\r\n\r\nabc", "HTTP/1.1 099 Low\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 000 Low\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nNo colon\r\nContent-Length: 3\r\n\r\nabc",
  ])
  func malformed(response: String) async throws {
    let outcome = try await exchange(response)
    #expect(outcome.error != nil)
    #expect([.malformedHead, .curl].contains(outcome.error?.kind))
    #expect(outcome.heads.isEmpty)
    #expect(outcome.body.isEmpty)
  }

  /// Outside of RFC 9110's range, yet framed like any other.
  @Test(arguments: [600, 999])
  func unknownStatuses(status: Int) async throws {
    let outcome = try await exchange("HTTP/1.1 \(status) Odd\r\nContent-Length: 3\r\n\r\nabc")
    #expect(outcome.error == nil)
    #expect(outcome.head?.status == status)
    #expect(outcome.text == "abc")
  }
}
