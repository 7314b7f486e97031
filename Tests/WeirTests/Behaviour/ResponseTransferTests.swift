import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// What the bytes of a response make of a request.
@Suite("Responses on the wire", .slow, .timeLimit(.minutes(5)))
struct ResponseTransferTests {
  struct Broken: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let script: Script
    let code: URLError.Code

    static let all: [Broken] = [
      Broken(
        testDescription: "body shorter than Content-Length",
        script: Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort")), code: .networkConnectionLost
      ),
      Broken(
        testDescription: "chunked body without its end",
        script: Script(.head, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")),
        code: .networkConnectionLost),
      Broken(
        testDescription: "malformed chunk",
        script: Script(.head, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n")),
        code: .badServerResponse),
      Broken(testDescription: "empty reply", script: Script(.head, .close), code: .networkConnectionLost),
      Broken(testDescription: "reset before the head", script: Script(.head, .reset), code: .networkConnectionLost),
      Broken(
        testDescription: "reset in the body",
        script: Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nsome"), .bytes(0), .reset),
        code: .networkConnectionLost),
      Broken(
        testDescription: "no HTTP", script: Script(.head, .send("220 smtp.example ESMTP\r\n\r\n")),
        code: .badServerResponse),
      Broken(
        testDescription: "a head that ends in the middle",
        script: Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Le")),
        code: .networkConnectionLost),
      Broken(
        testDescription: "two different lengths",
        script: Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc")),
        code: .badServerResponse),
    ]
  }

  @Test("A broken response fails the request, once", arguments: Broken.all)
  func broken(_ response: Broken) async throws {
    let server = try ScriptedServer(response.script)
    let session = Session()
    let request = session.request(server.url)
    let result = await request.serializingData().response
    #expect(result.error?.isSessionTaskError == true, "\(result)")
    #expect(result.error?.urlErrorCode == response.code, "\(result)")
    let error = result.error?.underlyingError as? URLError
    #expect(error?.failingURL?.absoluteString == server.url)
    #expect(request.metrics != nil)
    #expect(request.allMetrics.count == 1)
    await session.loopTurn()
  }

  @Test func connectionRefused() async throws {
    let server = try ScriptedServer(Script(.close))
    let url = server.url
    server.stop()
    let session = Session()
    let result = await session.request(url).serializingData().response
    #expect(result.error?.urlErrorCode == .cannotConnectToHost)
    #expect((result.error?.underlyingError as? URLError)?.errorUserInfo["weir.libcurl.code"] as? Int == 7)
    await session.loopTurn()
  }

  @Test func unknownHost() async throws {
    let session = Session()
    let result = await session.request("http://no-such-host.invalid/").serializingData().response
    #expect(result.error?.urlErrorCode == .cannotFindHost)
    await session.loopTurn()
  }

  @Test(
    "Only http and https",
    arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://h/", "http:///path", "about:blank"])
  func otherSchemes(_ url: String) async throws {
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(eventMonitors: [recorder])
    let request = session.request(url)
    let result = await request.serializingData().response
    #expect(result.error?.urlErrorCode == .unsupportedURL, "\(result)")
    #expect(request.attemptCount == 0)
    #expect(recorder.violations.entries == [])
    #expect(recorder.names.last == "settle(creation_failed)")
  }

  @Test func interimResponsesAreNotSeen() async throws {
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + okResponse("x")))
    )
    let heads = Journal<Int>()
    let session = Session()
    let response = await session.request(server.url).onHTTPResponse { heads.append($0.statusCode) }
      .serializingString().response
    #expect(response.value == "x")
    #expect(heads.entries == [200])
    #expect(response.response?.headers["Link"] == nil)
  }

  @Test func chunksAndTrailers() async throws {
    let server = try ScriptedServer(
      Script(
        .head,
        .send(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Digest\r\n\r\n"
            + "5;name=value\r\nhello\r\n7\r\n, world\r\n0\r\nDigest: x\r\n\r\n")))
    let session = Session()
    let response = await session.request(server.url).serializingString().response
    #expect(response.value == "hello, world")
    #expect(response.metrics?.bytesReceivedOnWire == 12)
  }

  @Test("A body that ends with the connection")
  func untilClose() async throws {
    let server = try ScriptedServer(Script(.head, .send("HTTP/1.0 200 OK\r\n\r\nhello")))
    let session = Session()
    let response = await session.request(server.url).serializingString().response
    #expect(response.value == "hello")
    #expect(response.metrics?.networkProtocolName == "http/1.0")
  }

  @Test("Fields arrive as sent, repeated ones joined")
  func fields() async throws {
    let server = try answering(response("200 Fine", ["X-A: 1", "x-a: 2", "Set-Cookie: a=b", "Empty:"], body: "x"))
    let session = Session()
    let response = try #require(await session.request(server.url).plainResponse().response)
    #expect(response.headers["X-A"] == "1, 2")
    #expect(response.headers["Empty"] == "")
    #expect(response.statusCode == 200)
    #expect(response.url?.absoluteString == server.url)
  }

  @Test("What goes out: method, target, session headers under the request's own, body")
  func requestOnTheWire() async throws {
    let server = try ScriptedServer(Script(.head, .bytes(7), .send(okResponse("x")), .awaitClose))
    var configuration = SessionConfiguration.default
    configuration.headers = ["User-Agent": "weir-test", "Accept-Language": "en", "X-Session": "1"]
    let session = Session(configuration: configuration)
    _ = await session.request(
      server.url + "path?q=1#fragment", method: .put, parameters: ["a": "b c"],
      encoding: URLEncoding.httpBody, headers: ["accept-language": "de", "X-Own": "2"]
    ).plainResponse()
    let head = server.receivedText().components(separatedBy: "\r\n")
    #expect(head.first == "PUT /path?q=1 HTTP/1.1")
    #expect(head.contains("Host: 127.0.0.1:\(server.port)"))
    #expect(head.contains("X-Session: 1"))
    #expect(head.contains("User-Agent: weir-test"))
    #expect(head.contains("X-Own: 2"))
    #expect(head.contains { $0.lowercased() == "accept-language: de" })
    #expect(!head.contains("Accept-Language: en"))
    #expect(head.contains("Content-Length: 7"))
    #expect(head.last == "a=b%20c")
    #expect(head.filter { $0.lowercased().hasPrefix("accept:") } == ["Accept: */*"], "said by weir, once")
  }

  @Test func sessionHeadersAreNotInTheURLRequest() async throws {
    let server = try answering(okResponse("x"))
    let session = Session()
    let request = session.request(server.url)
    _ = await request.plainResponse()
    #expect(request.request?.allHTTPHeaderFields ?? [:] == [:])
    #expect(server.receivedText().contains("User-Agent: "))
    #expect(server.receivedText().contains("Accept-Encoding: gzip, deflate\r\n"))
  }

  // MARK: Sizes

  @Test("maximumResponseSize is exact", arguments: [(1_000, true), (1_001, false)], [true, false])
  func responseSize(_ size: (count: Int, fits: Bool), _ isChunked: Bool) async throws {
    let body = String(repeating: "x", count: size.count)
    let text =
      isChunked
      ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(size.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
      : okResponse(body)
    let server = try answering(text)
    var configuration = SessionConfiguration.default
    configuration.maximumResponseSize = 1_000
    let session = Session(configuration: configuration)
    let response = await session.request(server.url).serializingData().response
    if size.fits {
      #expect(response.value?.count == 1_000)
    } else {
      #expect(response.error?.urlErrorCode == .dataLengthExceedsMaximum)
      #expect(response.error?.localizedDescription.contains("maximumResponseSize") == true)
      #expect((response.data?.count ?? 0) <= 1_000)
    }
  }

  @Test("A request's own maximumResponseSize counts in place of the session's, less or more", arguments: [10, 2_000])
  func ownResponseSize(_ limit: Int64) async throws {
    let server = try answering(okResponse(String(repeating: "x", count: 1_500)))
    var configuration = SessionConfiguration.default
    configuration.maximumResponseSize = 1_000
    let session = Session(configuration: configuration)
    let response = await session.request(server.url).maximumResponseSize(limit).serializingData().response
    #expect(response.value?.count == (limit == 2_000 ? 1_500 : nil))
    #expect(response.error?.urlErrorCode == (limit == 2_000 ? nil : .dataLengthExceedsMaximum))
  }

  @Test("maximumHeaderSize is exact", arguments: [(0, true), (1, false)])
  func headerSize(_ excess: Int, _ fits: Bool) async throws {
    let start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: "
    let head = start + String(repeating: "x", count: 2_000 - start.utf8.count - 4 + excess) + "\r\n\r\n"
    let server = try answering(head)
    var configuration = SessionConfiguration.default
    configuration.maximumHeaderSize = 2_000
    let session = Session(configuration: configuration)
    let response = await session.request(server.url).plainResponse()
    #expect((response.error == nil) == fits, "\(response)")
    if !fits {
      #expect(response.error?.urlErrorCode == .dataLengthExceedsMaximum)
      #expect(response.error?.localizedDescription.contains("maximumHeaderSize") == true)
    }
  }

  // MARK: Time

  @Test("A server that drips is fine; one that falls silent is not")
  func silence() async throws {
    let slow = String(repeating: "slow", count: 20)
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 200 OK\r\nContent-Length: 80\r\n\r\n"), .drip(slow, every: 0.03), .awaitClose),
      Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ns"), .awaitClose))
    var configuration = SessionConfiguration.default
    configuration.timeoutIntervalForRequest = 2
    let session = Session(configuration: configuration)
    #expect(await session.request(server.url).serializingString().response.value == slow)
    let other = Session(configuration: configuration)
    let response = await other.request(server.url).serializingString().response
    #expect(response.error?.urlErrorCode == .timedOut)
    #expect((response.metrics?.total ?? 0) >= 2)
  }

  @Test("A URL request's own timeout overrides the session's")
  func ownSilence() async throws {
    let server = try BlackHole()
    let session = Session()
    let response = await session.request(server.url) { $0.timeoutInterval = 0.1 }.serializingString().response
    #expect(response.error?.urlErrorCode == .timedOut)
  }

  @Test("The silence timeout stands still while the request is suspended")
  func silenceWhileSuspended() async throws {
    let (gate, sent) = (Gate(), Latch())
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsl"), .wait(gate), .send("ow"),
        .call { sent.open() }, .awaitClose))
    var configuration = SessionConfiguration.default
    configuration.timeoutIntervalForRequest = 1
    let recorder = EventRecorder()
    let slot = RequestSlot()
    let session = Session(
      configuration: configuration, eventMonitors: [recorder, AtFirstData { slot.request?.suspend() }])
    let request = session.request(server.url)
    slot.request = request
    let task = request.serializingString()
    await recorder.events.wait(for: "suspendTask")
    // Twice the timeout: the point of the test is that time passes.
    try await letPass(2)
    #expect(request.isSuspended)
    #expect(!recorder.events.entries.contains("·metrics"))
    gate.open()
    await sent.wait()
    request.resume()
    #expect(await task.response.value == "slow")
  }

  @Test("A server that goes while the request is suspended is a lost connection", arguments: [false, true])
  func lostWhileSuspended(_ isReset: Bool) async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome"), .wait(gate), isReset ? .reset : .close))
    let recorder = EventRecorder()
    let slot = RequestSlot()
    let session = Session(eventMonitors: [recorder, AtFirstData { slot.request?.suspend() }])
    let request = session.request(server.url)
    slot.request = request
    let task = request.serializingString()
    await recorder.events.wait(for: "suspendTask")
    gate.open()
    try await eventually("the server is gone") { server.finishedCount == 1 }
    request.resume()
    #expect(await task.response.error?.urlErrorCode == .networkConnectionLost)
    slot.request = nil
  }

  // MARK: Back-pressure

  @Test("While a request is suspended, its server can't send on")
  func backPressure() async throws {
    let size = 64 << 20
    let sent = Journal<Int>()
    let piece = [UInt8](repeating: 120, count: 1 << 20)
    let pieces = (1...64).flatMap { index in [Script.Step.send(piece), .call { sent.append(index) }] }
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n"), .steps(pieces), .awaitClose))
    let recorder = EventRecorder()
    let slot = RequestSlot()
    let session = Session(eventMonitors: [recorder, AtFirstData { slot.request?.suspend() }])
    let request = session.request(server.url)
    slot.request = request
    let task = request.serializingData()
    await recorder.events.wait(for: "suspendTask")
    let before = request.data?.count ?? 0
    for _ in 0..<50 { await session.loopTurn() }
    #expect((request.data?.count ?? 0) == before, "nothing is read while suspended")
    #expect(sent.entries.count < 64, "the server is held up by TCP")
    request.resume()
    #expect(await task.response.value?.count == size)
  }
}
