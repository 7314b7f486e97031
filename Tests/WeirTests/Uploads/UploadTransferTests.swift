import Foundation
import FoundationNetworking
import Glibc
import Synchronization
import Testing
import Weir
import WeirCurl
import WeirTestSupport

/// Redirects, early answers, steering and progress of uploads.
@Suite("§8.2 Uploads on the wire", .slow, .timeLimit(.minutes(5)))
struct UploadTransferTests {
  // MARK: Redirects

  @Test(
    "301 and 302 of a POST and every 303 go on as a GET without the body; others send it again",
    arguments: [301, 302, 303, 307, 308], [HTTPMethod.post, .put])
  func redirects(status: Int, method: HTTPMethod) async throws {
    let scratch = try Scratch()
    let body = pattern(70_000)
    let keepsBody = status >= 307 || method == .put && status != 303
    let uploads: [UploadRequest.Uploadable] = [
      .data(Data(body)), .file(try scratch.file(body), shouldRemove: false),
    ]
    for uploadable in uploads {
      let moved: Script.Step = .send(response("\(status) Moved", ["Location: /next"]))
      let server = try ScriptedServer(
        Script(.request, moved, .awaitClose), Script(.request, .send(okResponse("there")), .awaitClose))
      let session = Session()
      let upload = MadeUpload(url: server.url, method: method) { uploadable }
      // So that the hops have a connection each.
      let request = session.upload(
        upload,
        interceptor: Adapter { urlRequest, _, completion in
          var urlRequest = urlRequest
          urlRequest.setValue("text/plain", forHTTPHeaderField: "Content-Type")
          completion(.success(urlRequest))
        })
      let hops = Mutex(0)
      request.redirect(
        using: .modify { _, proposal, _ in
          hops.withLock { $0 += 1 }
          var proposal = proposal
          proposal.url = URL(string: server.url.replacingOccurrences(of: "127.0.0.1", with: "localhost") + "next")
          return proposal
        })
      #expect(await request.serializingString().response.value == "there")
      let lines = server.headLines(on: 1)
      #expect(lines.first == (keepsBody ? "\(method.rawValue) /next HTTP/1.1" : "GET /next HTTP/1.1"))
      #expect(lines.contains("Content-Length: 70000") == keepsBody)
      #expect(lines.contains("Content-Type: text/plain") == keepsBody)
      #expect(server.body(on: 1) == (keepsBody ? body : []))
    }
  }

  @Test("A body that a redirect handler gives takes the place of one that was dropped, and of no other")
  func handlersBody() async throws {
    for status in [303, 307] {
      let server = try ScriptedServer(
        Script(
          .request, .send(response("\(status) Moved", ["Location: /next"])), .request, .send(okResponse("there")),
          .awaitClose))
      let session = Session()
      let request = session.upload(Data("upload".utf8), to: server.url)
        .redirect(
          using: .modify { _, proposal, _ in
            var proposal = proposal
            proposal.httpMethod = "POST"
            proposal.httpBody = Data("handler".utf8)
            return proposal
          })
      #expect(await request.serializingString().response.value == "there")
      #expect(server.receivedText().hasSuffix(status == 303 ? "handler" : "upload"))
    }
  }

  // MARK: Answers that come early

  private enum Body: CaseIterable, CustomTestStringConvertible {
    case data, file, stream
    var testDescription: String { "\(self)" }
  }

  private static let size = 24 << 20

  private func upload(_ body: Body, _ scratch: Scratch, _ session: Session, to url: String) throws -> UploadRequest {
    switch body {
    case .data: session.upload(Data(count: Self.size), to: url)
    case .file: session.upload(try scratch.sparseFile(UInt64(Self.size)), to: url)
    case .stream: session.upload(InputStream(data: Data(count: Self.size)), to: url)
    }
  }

  /// After the answer.
  /// Once it can't send, libcurl reads no more.
  private static let endings: [(String, [Script.Step])] =
    [("reads on", [.awaitClose]), ("closes its side", [.halfClose, .awaitClose])]
    + (HTTP1EngineChoice.standard == .own ? [("closes", [.close]), ("resets", [.reset])] : [])

  @Test(
    "The answer of a server that does not want the whole body is the response, however it ends the connection",
    arguments: endings.indices, [401, 413, 500])
  func earlyAnswer(ending: Int, status: Int) async throws {
    let (name, steps) = Self.endings[ending]
    let scratch = try Scratch()
    for body in Body.allCases {
      for _ in 0..<4 {
        let server = try ScriptedServer(
          Script(
            .head, .bytes(100), .send("HTTP/1.1 \(status) No\r\nContent-Length: 4\r\n\r\nwhy?"), .steps(steps)))
        let session = Session()
        let response = try await upload(body, scratch, session, to: server.url).serializingString().response
        #expect(response.value == "why?", "\(name) \(body): \(String(describing: response.error))")
        #expect(response.response?.statusCode == status, "\(name) \(body)")
      }
    }
  }

  // MARK: Steering

  @Test("A suspended upload sends no more; it goes on when it is resumed")
  func suspends() async throws {
    let scratch = try Scratch()
    let file = try scratch.sparseFile(UInt64(Self.size))
    let begun = Latch()
    let server = try ScriptedServer(
      Script(
        .head, .swallow(100_000), .call { begun.open() }, .swallow(Self.size - 100_000), .send(okResponse("taken")),
        .awaitClose))
    let session = Session()
    let request = session.upload(file, to: server.url)
    let answer = request.serializingString()
    await begun.wait()
    request.suspend()
    await session.loopTurn()
    // What libcurl and the system have of it still goes; no more than their buffers.
    var sent: Int64 = -1
    var calm = 0
    try await eventually("nothing is sent any more") {
      let now = request.task?.countOfBytesSent ?? 0
      calm = now == sent ? calm + 1 : 0
      sent = now
      return calm >= 5
    }
    #expect(sent <= Int64(Self.size))
    let isWhole = sent == Int64(Self.size)
    if !isWhole { #expect(request.outcome == nil) }
    request.resume()
    #expect(await answer.response.value == "taken")
    #expect(request.task?.countOfBytesSent == Int64(Self.size))
  }

  @Test("A slow server holds the reading of the file back: memory stays as it is", arguments: [true, false])
  func constantMemory(isFile: Bool) async throws {
    let size = 256 << 20
    let scratch = try Scratch()
    let file = try scratch.sparseFile(UInt64(size))
    let peak = Mutex(0)
    let note: @Sendable () -> Void = {
      let now = (try? ThisProcess.residentBytes) ?? 0
      peak.withLock { $0 = max($0, now) }
    }
    let step = size / 64
    let server = try ScriptedServer(
      Script(
        .head, .steps((0..<64).flatMap { _ in [.swallow(step), .call(note)] }), .send(okResponse("taken")), .awaitClose)
    )
    let session = Session()
    let before = try ThisProcess.residentBytes
    let stream = try #require(InputStream(url: file))
    let request =
      isFile
      ? session.upload(file, to: server.url)
      : session.upload(stream, to: server.url, headers: ["Content-Length": "\(size)"])
    #expect(await request.serializingString().response.value == "taken")
    let growth = peak.withLock { $0 } - before
    if !ThisProcess.isSanitized { #expect(growth < 48 << 20, "\(growth >> 20) MiB") }
  }

  @Test("A file of which the system has nothing in memory, or no longer, goes up whole", arguments: [true, false])
  func uncached(fromTheStart: Bool) async throws {
    let scratch = try Scratch()
    let body = pattern(6 << 20)
    let file = try scratch.file(body)
    let evict: @Sendable () -> Void = {
      let descriptor = open(file.path, O_RDONLY)
      fsync(descriptor)
      posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
      close(descriptor)
    }
    if fromTheStart { evict() }
    let server = try ScriptedServer(
      Script(
        .head, .bytes(300_000), .call(evict), .bytes(body.count - 300_000), .send(okResponse("taken")), .awaitClose))
    let session = Session()
    let request = session.upload(file, to: server.url)
    #expect(await request.serializingString().response.value == "taken")
    #expect(server.body().elementsEqual(body))
  }

  // MARK: Progress

  @Test(
    "Progress counts what was sent of what is expected, and begins anew with a retry and a redirect that keeps the body"
  )
  func progress() async throws {
    let body = pattern(300_000)
    let server = try ScriptedServer(
      Script(
        .request, .send(response("307 Moved", ["Location: /next"])), .request, .send(response("503 Busy")), .request,
        .send(okResponse("taken")), .awaitClose))
    let session = Session(
      interceptor: Retrier { request, _, _, completion in completion(request.retryCount == 0 ? .retry : .doNotRetry) })
    let reports = Journal<[Int64]>()
    let request = session.upload(Data(body), to: server.url).validate()
    request.uploadProgress(queue: DispatchQueue(label: "progress")) {
      reports.append([$0.completedUnitCount, $0.totalUnitCount])
    }
    #expect(await request.serializingString().response.value == "taken")
    try await eventually("the last report has come") { reports.entries.last?[0] == 300_000 }
    // A closure that runs late may find what came since: the beginning of the retry.
    #expect(reports.entries.allSatisfy { $0[1] == 300_000 || $0[1] <= 0 }, "\(reports.entries)")
    #expect(reports.entries.allSatisfy { $0[0] <= 300_000 && $0[0] >= 0 }, "\(reports.entries)")
    #expect(request.uploadProgress.fractionCompleted == 1)
    #expect(request.tasks.map(\.countOfBytesSent) == [300_000, 300_000])
  }

  @Test("It is there without a closure too, and unknown for a stream")
  func progressWithoutClosure() async throws {
    let server = try ScriptedServer(
      Script(.request, .send(okResponse("taken")), .awaitClose),
      Script(.head, .chunkedBody, .send(okResponse("taken")), .awaitClose))
    for isStream in [false, true] {
      // On connections of their own.
      let session = Session()
      let request =
        isStream
        ? session.upload(InputStream(data: Data(pattern(200_000))), to: server.url)
        : session.upload(Data(pattern(200_000)), to: server.url)
      let before = request.uploadProgress
      #expect(before.totalUnitCount == 0 && before.completedUnitCount == 0)
      #expect(await request.serializingString().response.value == "taken")
      #expect(before === request.uploadProgress)
      #expect(before.completedUnitCount == 200_000)
      #expect(before.totalUnitCount == (isStream ? -1 : 200_000))
    }
    let session = Session()
    let bodies = try ScriptedServer(Script(.request, .send(okResponse("taken")), .awaitClose))
    let late = session.upload(Data(pattern(10)), to: bodies.url)
    #expect(await late.serializingString().response.value == "taken")
    #expect(late.uploadProgress.completedUnitCount == 10 && late.uploadProgress.totalUnitCount == 10)
    #expect(late.downloadProgress.completedUnitCount == 5 && late.downloadProgress.totalUnitCount == 5)
  }

  @Test("Monitors hear of the bytes that went since the last call, also after a redirect sends the body again")
  func sentEvents() async throws {
    final class Sent: InlineEventMonitor {
      let counts = Journal<[Int64]>()
      func urlSession(
        _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
      ) { counts.append([bytesSent, totalBytesSent, totalBytesExpectedToSend]) }
    }
    let server = try ScriptedServer(
      Script(
        .request, .send(response("307 Moved", ["Location: /next"])), .request, .send(okResponse("taken")), .awaitClose))
    let sent = Sent()
    let session = Session(eventMonitors: [sent])
    #expect(await session.upload(Data(pattern(300_000)), to: server.url).plainResponse().error == nil)
    #expect(sent.counts.entries.allSatisfy { $0[0] > 0 && $0[2] == 300_000 }, "\(sent.counts.entries)")
    #expect(sent.counts.entries.reduce(0) { $0 + $1[0] } == 600_000)
  }
}
