import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

@Suite("§8.3 Downloads: resuming", .timeLimit(.minutes(5)))
struct ResumedDownloadTests {
  private static let body = "0123456789"

  /// A rig with a download that was cut off after four bytes, and the port it came from.
  private struct Cut {
    let rig: DownloadRig
    let data: Data

    init(_ rig: DownloadRig? = nil) async throws {
      self.rig = try rig ?? DownloadRig()
      // Of any server: which one is asked for the rest, the data's URL says.
      let server = try ScriptedServer(cutOff(body, after: 4))
      let response = await self.rig.session.download(server.url, headers: ["X-A": "b"]).plainResponse()
      data = try #require(response.resumeData)
    }

    /// The data, for a server that a test has.
    func data(for server: ScriptedServer) throws -> Data {
      var known = try #require(ResumeData(data))
      known.url = try #require(URL(string: server.url))
      return try #require(known.data)
    }
  }

  private func range(_ server: ScriptedServer, on index: Int = 0) -> [String] {
    server.receivedText(on: index).split(separator: "\r\n").map(String.init)
      .filter { $0.hasPrefix("Range:") || $0.hasPrefix("If-Range:") }.sorted()
  }

  @Test("206 with the same validator is appended; progress begins at the offset")
  func appended() async throws {
    let cut = try await Cut()
    let server = try answering(rest(Self.body, from: 4))
    let progress = Journal<[Int64]>()
    let request = cut.rig.session.download(resumingWith: try cut.data(for: server), to: cut.rig.to("file"))
      .downloadProgress { progress.append([$0.completedUnitCount, $0.totalUnitCount]) }
    let response = await request.plainResponse()
    #expect(response.value == cut.rig.url("file"), "\(response)")
    #expect(try cut.rig.text("file") == Self.body)
    #expect(range(server) == ["If-Range: \"v1\"", "Range: bytes=4-"])
    #expect(server.receivedText().contains("X-A: b"))
    #expect(response.response?.statusCode == 206 && response.resumeData == nil)
    #expect(cut.rig.recorder.events.entries.contains("·resumeAt(4, 10)"))
    await progress.wait { !$0.isEmpty }
    #expect(progress.entries.allSatisfy { $0[0] > 4 && $0[1] == 10 } && progress.entries.last?[0] == 10)
    try await cut.rig.isClean()
    #expect(cut.rig.recorder.violations.entries == [])
  }

  @Test("The rebuilt URL request passes through the adapters, and appears in requests")
  func adapted() async throws {
    let cut = try await Cut()
    let server = try answering(rest(Self.body, from: 4))
    let adapter = Adapter {
      var request = $0
      request.setValue("Bearer fresh", forHTTPHeaderField: "Authorization")
      $2(.success(request))
    }
    let request = cut.rig.session.download(
      resumingWith: try cut.data(for: server), interceptor: adapter, to: cut.rig.to("file"))
    #expect(await request.plainResponse().error == nil)
    #expect(request.requests.count == 2)
    #expect(request.requests.first?.value(forHTTPHeaderField: "Range") == "bytes=4-")
    #expect(request.requests.last?.value(forHTTPHeaderField: "Authorization") == "Bearer fresh")
    #expect(server.receivedText().contains("Authorization: Bearer fresh"))
  }

  @Test("200 starts over with what it brings")
  func whole() async throws {
    let cut = try await Cut()
    let server = try answering(okResponse("another", "ETag: \"v2\"\r\n"))
    let response = await cut.rig.session.download(resumingWith: try cut.data(for: server), to: cut.rig.to("file"))
      .plainResponse()
    #expect(response.value == cut.rig.url("file"))
    #expect(try cut.rig.text("file") == "another")
    #expect(server.connectionCount == 1 && response.response?.statusCode == 200)
    try await cut.rig.isClean()
  }

  private static let useless = [
    response("416 No", ["Content-Range: bytes */10"]), rest(body, from: 4, tag: "\"v2\""), rest(body, from: 3),
    response("206 X", ["ETag: \"v1\""], body: "456789"),
    response("206 X", ["ETag: \"v1\"", "Content-Range: bytes 4-6/10"], body: "456"),
    response("206 X", ["ETag: \"v1\"", "Content-Range: bytes 4-9/11"], body: "456789"),
    response("206 X", ["ETag: \"v1\"", "Content-Range: bytes 4-9/10", "Content-Encoding: gzip"], body: "456789"),
  ]

  @Test("416 and any other 206 start over: the body is asked for once more, without a range", arguments: useless)
  func startsOver(_ answer: String) async throws {
    let cut = try await Cut()
    let server = try answeringInTurn(answer, okResponse("another", "ETag: \"v2\"\r\n"))
    let request = cut.rig.session.download(resumingWith: try cut.data(for: server), to: cut.rig.to("file"))
    let response = await request.plainResponse()
    #expect(response.value == cut.rig.url("file"), "\(response)")
    #expect(try cut.rig.text("file") == "another")
    #expect(range(server).count == 2, "of two requests one had a range")
    #expect(request.tasks.count == 1 && request.retryCount == 0 && response.metrics?.redirectCount == 0)
    #expect(!cut.rig.recorder.events.entries.contains { $0.hasPrefix("·resumeAt") })
    try await cut.rig.isClean()
  }

  @Test("The request that starts over answers a challenge of its own, since a nonce may be used once")
  func startsOverWithChallenge() async throws {
    let cut = try await Cut()
    let challenges = ["n1", "n2"].map {
      response("401 Unauthorized", ["WWW-Authenticate: Digest realm=\"r\", nonce=\"\($0)\""])
    }
    let server = try answeringInTurn(
      challenges[0], rest(Self.body, from: 4, tag: "\"v2\""), challenges[1], okResponse("another"))
    let answer = await cut.rig.session.download(resumingWith: try cut.data(for: server), to: cut.rig.to("file"))
      .authenticate(username: "me", password: "s3cret").plainResponse()
    #expect(answer.value == cut.rig.url("file"), "\(answer)")
    let answers = server.allRequests.map { $0.value(of: "Authorization").map { $0.contains("nonce=\"n1\"") } }
    #expect(answers == [nil, true, nil, false])
  }

  @Test("It can be cut off and resumed again")
  func twice() async throws {
    let cut = try await Cut()
    let head = "HTTP/1.1 206 X\r\nETag: \"v1\"\r\nContent-Range: bytes 4-9/10\r\nContent-Length: 6\r\n\r\n45"
    let server = try ScriptedServer(Script(.request, .send(head), .close), .answering(rest(Self.body, from: 6)))
    let second = await cut.rig.session.download(resumingWith: try cut.data(for: server)).plainResponse()
    #expect(second.error?.urlErrorCode == .networkConnectionLost)
    let data = try #require(second.resumeData)
    let known = try #require(ResumeData(data))
    #expect(known.offset == 6 && known.total == 10 && cut.rig.partialFiles == [known.fileName])
    #expect(known.headers == ["X-A": "b"])
    let third = await cut.rig.session.download(resumingWith: data, to: cut.rig.to("file")).plainResponse()
    #expect(third.value == cut.rig.url("file"), "\(third)")
    #expect(try cut.rig.text("file") == Self.body)
    #expect(range(server, on: 1) == ["If-Range: \"v1\"", "Range: bytes=6-"])
    try await cut.rig.isClean()
  }

  @Test("A retry of a resumed download goes on where the last attempt ended")
  func retried() async throws {
    let cut = try await Cut()
    let head = "HTTP/1.1 206 X\r\nETag: \"v1\"\r\nContent-Range: bytes 4-9/10\r\nContent-Length: 6\r\n\r\n45"
    let server = try ScriptedServer(
      Script(.request, .close), Script(.request, .send(head), .close), .answering(rest(Self.body, from: 6)))
    let request = cut.rig.session.download(
      resumingWith: try cut.data(for: server), interceptor: RetryPolicy(exponentialBackoffScale: 0),
      to: cut.rig.to("file"))
    #expect(await request.plainResponse().value == cut.rig.url("file"))
    #expect(try cut.rig.text("file") == Self.body)
    #expect(request.retryCount == 2)
    try await cut.rig.isClean()
  }

  @Test("An attempt that fails before it could go on leaves the same resume data")
  func notBegun() async throws {
    let cut = try await Cut()
    let server = try ScriptedServer(Script(.request, .close), .answering(rest(Self.body, from: 4)))
    let data = try cut.data(for: server)
    let request = cut.rig.session.download(resumingWith: data)
    let failed = await request.plainResponse()
    #expect(failed.error?.urlErrorCode == .networkConnectionLost)
    #expect(ResumeData(try #require(failed.resumeData)) == ResumeData(data))
    #expect(failed.resumeData == failed.error?.downloadResumeData && failed.resumeData == request.resumeData)
    let again = await cut.rig.session.download(resumingWith: data, to: cut.rig.to("file")).plainResponse()
    #expect(again.value == cut.rig.url("file"))
  }

  @Test("Other statuses are delivered, and the partial file waits for another try")
  func otherStatus() async throws {
    let cut = try await Cut()
    let server = try answeringInTurn(response("503 Busy", body: "busy"), rest(Self.body, from: 4))
    let data = try cut.data(for: server)
    let busy = await cut.rig.session.download(resumingWith: data, to: cut.rig.to("page")).validate().plainResponse()
    #expect(busy.error?.responseCode == 503)
    #expect(try cut.rig.text("page") == "busy")
    let again = await cut.rig.session.download(resumingWith: data, to: cut.rig.to("file")).plainResponse()
    #expect(again.value == cut.rig.url("file"))
    #expect(try cut.rig.text("file") == Self.body)
    try await cut.rig.isClean()
  }

  @Test("Too few bytes of the rest are no whole file, too many are none at all")
  func wrongLength() async throws {
    for (count, code) in [(3, URLError.Code.networkConnectionLost), (9, .badServerResponse)] {
      let cut = try await Cut()
      let bytes = String(repeating: "x", count: count)
      let server = try ScriptedServer(
        .once(
          "HTTP/1.1 206 X\r\nETag: \"v1\"\r\nContent-Range: bytes 4-9/10\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "\(count)\r\n\(bytes)\r\n0\r\n\r\n"))
      let response = await cut.rig.session.download(resumingWith: try cut.data(for: server), to: cut.rig.to("file"))
        .plainResponse()
      #expect(response.error?.urlErrorCode == code, "\(response)")
      #expect((response.resumeData == nil) == (code == .badServerResponse))
      #expect(cut.rig.partialFiles.count == (code == .badServerResponse ? 0 : 1))
      #expect(try cut.rig.names() == [])
    }
  }

  @Test(
    "Data that can't be used: cannotOpenFile, and no request is made", arguments: ["empty", "other", "gone", "shorter"])
  func unusable(_ kind: String) async throws {
    let cut = try await Cut()
    let server = try answering(okResponse("x"))
    var data = try cut.data(for: server)
    let file = "\(cut.rig.partialDirectory)/\(try #require(cut.rig.partialFiles.first))"
    switch kind {
    case "empty": data = Data()
    case "other": data = Data("{}".utf8)
    case "gone": try FileManager.default.removeItem(atPath: file)
    default: try "01".write(toFile: file, atomically: false, encoding: .utf8)
    }
    let request = cut.rig.session.download(resumingWith: data)
    let response = await request.plainResponse()
    #expect(
      response.error?.isSessionTaskError == true && response.error?.urlErrorCode == .cannotOpenFile, "\(response)")
    #expect(response.error?.localizedDescription.contains("resume data") == true)
    #expect(request.outcome == .fileError && server.connectionCount == 0 && request.tasks.isEmpty)
    if kind == "shorter" { #expect(try String(contentsOfFile: file, encoding: .utf8) == "01") }
  }

  @Test("A range of the caller's own makes no resume data")
  func callersRange() async throws {
    let server = try ScriptedServer(
      Script(
        .request,
        .send("HTTP/1.1 206 X\r\nETag: \"v1\"\r\nContent-Range: bytes 2-9/10\r\nContent-Length: 8\r\n\r\n2345"),
        .close))
    let rig = try DownloadRig()
    let response = await rig.session.download(server.url, headers: ["Range": "bytes=2-"]).plainResponse()
    #expect(response.error?.urlErrorCode == .networkConnectionLost && response.resumeData == nil)
    #expect(rig.partialFiles == [])
  }

  @Test("Cancelled before it went on, a resumed download gives its data back")
  func cancelledEarly() async throws {
    let cut = try await Cut()
    let hole = try BlackHole()
    var known = try #require(ResumeData(cut.data))
    known.url = try #require(URL(string: hole.url))
    let data = try #require(known.data)
    let request = cut.rig.session.download(resumingWith: data).resume()
    try await eventually("it is on the wire") { hole.connectionCount == 1 && !hole.received().isEmpty }
    #expect(await request.cancelProducing().flatMap(ResumeData.init) == known)
    #expect(cut.rig.partialFiles == [known.fileName])
    let other = cut.rig.session.download(resumingWith: data).resume()
    try await eventually("it is on the wire") { hole.connectionCount >= 2 || hole.received().count > 300 }
    other.cancel()
    #expect(await other.plainResponse().resumeData == nil)
    #expect(cut.rig.partialFiles == [known.fileName], "whoever has the data may still use them")
  }
}
