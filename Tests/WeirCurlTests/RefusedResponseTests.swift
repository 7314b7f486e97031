import Testing
import WeirCurl
import WeirTestSupport

/// Responses that two readers could understand differently: each is refused by its own error, and the next request is
/// answered by its own response.
@Suite(.slow, .timeLimit(.minutes(5)))
struct RefusedResponseTests {
  struct Refused: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let response: String
    /// The error's label with our own engine.
    let label: String
    /// Whether libcurl takes the response.
    let isTakenByLibcurl: Bool

    init(_ name: String, _ label: String, isTakenByLibcurl: Bool = false, _ response: String) {
      self.isTakenByLibcurl = isTakenByLibcurl
      testDescription = name
      self.label = label
      self.response = response
    }
  }

  private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

  static let responses = [
    Refused("folded first line", "malformed_head", "HTTP/1.1 200 OK\r\n X: y\r\nContent-Length: 0\r\n\r\n"),
    Refused("bare LF behind a chunk size", "recv_error", isTakenByLibcurl: true, "\(chunked)3\nabc\r\n0\r\n\r\n"),
    Refused("bare LF behind a chunk", "recv_error", isTakenByLibcurl: true, "\(chunked)3\r\nabc\n0\r\n\r\n"),
    Refused("bare LF behind the last chunk", "recv_error", isTakenByLibcurl: true, "\(chunked)3\r\nabc\r\n0\n\n"),
    Refused(
      "two lengths", "conflicting_lengths", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
    Refused("two lengths in a list", "malformed_head", "HTTP/1.1 200 OK\r\nContent-Length: 3, 4\r\n\r\nabcd"),
    Refused("length with letters", "malformed_head", "HTTP/1.1 200 OK\r\nContent-Length: 3abc\r\n\r\nabc"),
    Refused("negative length", "malformed_head", "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc"),
    Refused(
      "length and chunks", "malformed_head",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    Refused("HTTP/2 in plain text", "malformed_head", "HTTP/2 200 OK\r\nContent-Length: 3\r\n\r\nabc"),
    Refused(
      "gzip as transfer coding", "transfer_encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc"),
    Refused(
      "gzip, chunked", "transfer_encoding",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    Refused(
      "17 interim responses", "head_too_large",
      String(repeating: "HTTP/1.1 103 Hint\r\n\r\n", count: 17) + okResponse("x")),
    Refused(
      "1 MiB of chunk extension", "recv_error", isTakenByLibcurl: true,
      "\(chunked)3;a=\(String(repeating: "x", count: 1 << 20))\r\nabc\r\n0\r\n\r\n"),
    Refused(
      "1 MiB of chunk extensions", "recv_error", isTakenByLibcurl: true,
      chunked + String(repeating: "1;a=\(String(repeating: "x", count: 1000))\r\na\r\n", count: 1024) + "0\r\n\r\n"),
    Refused("chunk size that overflows", "recv_error", "\(chunked)ffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
    Refused("cut body", "partial_file", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc"),
    Refused("cut chunks", "partial_file", "\(chunked)3\r\nabc\r\n"),
    Refused("cut head", "partial_file", "HTTP/1.1 200 OK\r\nContent-Le"),
    Refused("nothing", "got_nothing", ""),
  ]

  private static func check(_ outcome: Outcome, _ refused: Refused) {
    #expect(outcome.finishes == 1)
    if isOwnEngine {
      #expect(outcome.error?.label == refused.label, "\(String(describing: outcome.error))")
    } else {
      #expect(outcome.error != nil || refused.isTakenByLibcurl)
    }
  }

  @Test(arguments: responses)
  func plain(refused: Refused) async throws {
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("first")), .head, .send(refused.response)), .answering(okResponse("next")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "first")
    // A POST is not sent again when nothing comes.
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: refused.response.isEmpty ? "POST" : "GET"))
    if refused.response.isEmpty {
      #expect(outcome.error?.kind == .connectionLost)
    } else {
      Self.check(outcome, refused)
    }
    #expect(await rig.get(server.url).text == "next")
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test(.enabled(if: TLSUpstream.isInstalled), arguments: ["1.2", "1.3"])
  func secure(version: String) async throws {
    let upstream = try await TLSUpstream(version)
    let rig = try await upstream.rig()
    // The long ones don't fit in the head of a request.
    for refused in Self.responses where refused.response.utf8.count < 10_000 {
      let outcome = await rig.get(upstream.url("close", refused.response))
      Self.check(outcome, refused)
      #expect(await rig.get(upstream.url("keep", okResponse("next"))).text == "next")
    }
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// A cut is an error in every framing whose end it takes away.
  @Test(
    .enabled(if: TLSUpstream.isInstalled),
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", "\(chunked)3\r\nabc\r\n", "\(chunked)3\r\nabc\r\n0\r\n",
      "HTTP/1.1 200 OK\r\n\r\nabc", "HTTP/1.0 200 OK\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Le",
    ], ["cut", "reset"])
  func cutOfTLS(response: String, end: String) async throws {
    let upstream = try await TLSUpstream()
    let rig = try await upstream.rig()
    let outcome = await rig.get(upstream.url(end, response))
    #expect(outcome.error != nil)
    #expect(outcome.finishes == 1)
    #expect(await rig.get(upstream.url("keep", okResponse("next"))).text == "next")
    await rig.close()
    #expect(rig.counts.open == 0)
  }
}
