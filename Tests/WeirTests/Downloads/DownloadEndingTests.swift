import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

/// Nothing is left of a download that ends otherwise than well, unless somebody may go on with it.
@Suite("§8.3 Downloads: failures, cancelling, retries", .timeLimit(.minutes(5)))
struct DownloadEndingTests {
  private static let body = "0123456789"

  /// Waits for bytes of the body, and until they are written.
  private func begun(_ request: DownloadRequest, _ count: Int64 = 4) async throws {
    request.resume()
    try await eventually("the body has begun") { request.task?.countOfBytesReceived ?? 0 >= count }
  }

  // MARK: Transfer errors

  @Test("A transfer error leaves resume data, the same in three places")
  func transferError() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4))
    let rig = try DownloadRig()
    let request = rig.session.download(server.url, headers: ["Authorization": "Bearer s3cret", "X-A": "b"])
    let response = await request.plainResponse()
    #expect(response.error?.urlErrorCode == .networkConnectionLost)
    let data = try #require(request.resumeData)
    #expect(data == request.error?.downloadResumeData && data == response.resumeData)
    #expect(response.error?.downloadResumeData == data)
    let known = try #require(ResumeData(data))
    #expect(known.offset == 4 && known.total == 10 && known.validator == .entityTag("\"v1\""))
    #expect(known.headers == ["X-A": "b"])
    #expect(rig.partialFiles == [known.fileName])
    #expect(try String(contentsOfFile: "\(rig.partialDirectory)/\(known.fileName)", encoding: .utf8) == "0123")
    #expect(response.fileURL == nil)
  }

  private static let withoutRest: [(String, Script)] = [
    ("no validator", cutOff(body, after: 4, "")), ("weak tag", cutOff(body, after: 4, "ETag: W/\"v\"\r\n")),
    ("no ranges", cutOff(body, after: 4, "ETag: \"v1\"\r\nAccept-Ranges: none\r\n")),
    ("no byte", cutOff(body, after: 0)),
    (
      "an error page",
      Script(.request, .send("HTTP/1.1 500 X\r\nETag: \"v1\"\r\nContent-Length: 9\r\n\r\nbody"), .close)
    ),
    (
      "a content coding",
      Script(
        .request, .send("HTTP/1.1 200 X\r\nETag: \"v1\"\r\nContent-Encoding: br\r\nContent-Length: 9\r\n\r\nx"), .close)
    ),
    ("no head", Script(.request, .close)),
  ]

  @Test("Where the rest can't be asked for, nothing is kept", arguments: withoutRest.map(\.0))
  func notResumable(_ name: String) async throws {
    let server = try ScriptedServer(try #require(Self.withoutRest.first { $0.0 == name }).1)
    let rig = try DownloadRig()
    let request = rig.session.download(server.url)
    let response = await request.plainResponse()
    #expect(response.error?.urlErrorCode == .networkConnectionLost, "\(response)")
    #expect(response.resumeData == nil && request.resumeData == nil && response.error?.downloadResumeData == nil)
    #expect(rig.partialFiles == [], "a failure waits for that")
  }

  @Test func aPostLeavesNothing() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4))
    let rig = try DownloadRig()
    let response = await rig.session.download(server.url, method: .post).plainResponse()
    #expect(response.error?.urlErrorCode == .networkConnectionLost && response.resumeData == nil)
    #expect(rig.partialFiles == [])
  }

  // MARK: Cancelling

  @Test("cancel() keeps nothing")
  func cancelPlain() async throws {
    for form in 0..<2 {
      let server = try ScriptedServer(cutOff(Self.body, after: 4, closes: false))
      let rig = try DownloadRig()
      let request = rig.session.download(server.url)
      try await begun(request)
      if form == 0 { request.cancel() } else { request.cancel(producingResumeData: false) }
      let response = await request.plainResponse()
      #expect(response.error?.isExplicitlyCancelledError == true && response.resumeData == nil)
      try await rig.isClean()
    }
  }

  @Test("cancel(producingResumeData: true) keeps what has come")
  func cancelProducing() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4, closes: false))
    let rig = try DownloadRig()
    let request = rig.session.download(server.url)
    try await begun(request)
    request.cancel(producingResumeData: true)
    let response = await request.plainResponse()
    #expect(response.error?.isExplicitlyCancelledError == true)
    let data = try #require(response.resumeData)
    #expect(data == request.resumeData && ResumeData(data)?.offset == 4)
    #expect(rig.partialFiles.count == 1)
  }

  @Test("cancel(byProducingResumeData:) calls back, on the completion queue, and once")
  func cancelByProducing() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4, closes: false))
    let rig = try DownloadRig()
    let request = rig.session.download(server.url)
    try await begun(request)
    async let first = request.cancelProducing()
    async let second = request.cancelProducing()
    let (data, again) = await (first, second)
    #expect(data.flatMap(ResumeData.init)?.offset == 4)
    #expect(again == data)
    #expect(await request.plainResponse().resumeData == data)
    #expect(await request.cancelProducing() == data, "also later")
  }

  @Test func withoutATaskThereIsNoResumeData() async throws {
    let rig = try DownloadRig()
    let request = rig.session.download("http://127.0.0.1:1/")
    #expect(await request.cancelProducing() == nil)
    #expect(request.isCancelled)
    let server = try answering(okResponse("body"))
    let finished = rig.session.download(server.url, to: rig.to("file"))
    _ = await finished.plainResponse()
    #expect(await finished.cancelProducing() == nil)
    #expect(finished.isFinished)
  }

  @Test("A cancelled task alone leaves nothing, and may be retried")
  func cancelledTask() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4, closes: false))
    let rig = try DownloadRig()
    let request = rig.session.download(server.url)
    try await begun(request)
    request.task?.cancel()
    let response = await request.plainResponse()
    #expect(response.error?.urlErrorCode == .cancelled && response.resumeData == nil)
    #expect(rig.partialFiles == [])
  }

  @Test("A cancel waits for no worker")
  func cancelWithoutWorkers() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4, closes: false))
    let rig = try DownloadRig()
    let gate = Gate()
    for _ in 0..<2 { rig.session.context.workers.submit { gate.wait() } }
    let request = rig.session.download(server.url)
    try await begun(request)
    request.cancel()
    #expect(await request.plainResponse().error?.isExplicitlyCancelledError == true)
    gate.open()
    try await rig.isClean()
  }

  /// Cancels in the call of an event, on the loop.
  private final class CancelAt: InlineEventMonitor {
    private let event: String
    let request = Mutex<DownloadRequest?>(nil)

    init(_ event: String) { self.event = event }

    private func happened(_ event: String) {
      if event == self.event { request.withLock { $0 }?.cancel() }
    }

    func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL) {
      happened("downloaded")
    }

    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) { happened("destination") }
  }

  @Test("A cancel between the last byte and the file's place leaves no file", arguments: ["downloaded", "destination"])
  func cancelBeforeTheMove(_ event: String) async throws {
    let server = try answering(okResponse(Self.body))
    let cancelling = CancelAt(event)
    let rig = try DownloadRig(monitors: [cancelling])
    let request = rig.session.download(server.url, to: rig.to("file"))
    cancelling.request.withLock { $0 = request }
    let response = await request.plainResponse()
    #expect(response.error?.isExplicitlyCancelledError == true && response.fileURL == nil)
    try await rig.isClean()
    try await eventually("the target is gone") { try rig.names() == [] }
    #expect(rig.recorder.violations.entries == [])
  }

  @Test("The deadline leaves resume data of what is written")
  func deadline() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4, closes: false))
    let rig = try DownloadRig { $0.timeoutIntervalForResource = 2 }
    let request = rig.session.download(server.url)
    let response = await request.plainResponse()
    #expect(response.error?.urlErrorCode == .timedOut)
    let data = try #require(response.resumeData)
    #expect(data == request.error?.downloadResumeData && ResumeData(data)?.offset == 4)
  }

  @Test("The end of the session leaves nothing")
  func sessionLoss() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4, closes: false))
    let rig = try DownloadRig()
    let request = rig.session.download(server.url)
    try await begun(request)
    rig.session.invalidateAndCancel()
    let response = await request.plainResponse()
    #expect(response.error?.isSessionInvalidatedError == true && response.resumeData == nil)
    try await rig.isClean()
  }

  @Test("A suspended download goes on")
  func suspended() async throws {
    let body = String(repeating: "x", count: 3 << 20)
    let server = try answering(okResponse(body))
    let rig = try DownloadRig()
    let request = rig.session.download(server.url, to: rig.to("file"))
    async let response = request.plainResponse()
    for _ in 0..<20 {
      request.suspend()
      await rig.session.loopTurn()
      request.resume()
    }
    #expect(await response.error == nil)
    #expect(try rig.text("file") == body)
  }

  // MARK: Retries

  @Test("A retry starts over, with a fresh file; of the attempts before it nothing is left")
  func retries() async throws {
    let server = try ScriptedServer(
      cutOff(Self.body, after: 4), cutOff(Self.body, after: 6), .answering(okResponse("whole")))
    let rig = try DownloadRig(interceptor: RetryPolicy(exponentialBackoffScale: 0))
    let response = await rig.session.download(server.url, to: rig.to("file")).plainResponse()
    #expect(response.value == rig.url("file") && response.resumeData == nil)
    #expect(try rig.text("file") == "whole")
    #expect(!server.receivedText(on: 1).contains("Range"))
    try await rig.isClean()
  }

  @Test("The file of an attempt that is retried is taken back")
  func retryAfterValidation() async throws {
    let server = try answeringInTurn(busyResponse, okResponse("fine"))
    let rig = try DownloadRig(interceptor: RetryPolicy(exponentialBackoffScale: 0))
    let response = await rig.session.download(server.url, to: rig.to("file")).validate().plainResponse()
    #expect(response.value == rig.url("file"), "\(response)")
    #expect(try rig.text("file") == "fine")
    let kept = try DownloadRig(interceptor: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0))
    let busy = try answering(busyResponse)
    let failed = await kept.session.download(busy.url).validate().plainResponse()
    #expect(failed.error?.responseCode == 503)
    #expect(kept.partialFiles.count == 1 && failed.fileURL?.lastPathComponent == kept.partialFiles.first)
  }

  @Test("A cancel in a retry's delay keeps nothing of the attempt before it")
  func cancelInDelay() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4))
    let rig = try DownloadRig(interceptor: Retrier { $3(.retryWithDelay(60)) })
    let request = rig.session.download(server.url)
    async let response = request.plainResponse()
    await rig.recorder.events.wait { $0.contains { $0.hasPrefix("willRetry") } }
    #expect(request.resumeData != nil)
    request.cancel()
    #expect(await response.resumeData == nil)
    #expect(request.resumeData == nil)
    try await rig.isClean()
  }

  @Test("Many at once leave no file and no descriptor", .timeLimit(.minutes(5)))
  func many() async throws {
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatch { line in
            let number = Int(line.split(separator: " ")[1].dropFirst()) ?? 0
            switch number % 4 {
            case 0: return [.send(okResponse(String(repeating: "x", count: number * 10)))]
            case 1: return [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), .close]
            case 2: return [.send("HTTP/1.1 200 OK\r\nETag: \"v\"\r\nContent-Length: 10\r\n\r\nhalf"), .awaitClose]
            default: return [.send("HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\nnone")]
            }
          }
        ])))
    let rig = try DownloadRig()
    let before = try ThisProcess.openDescriptors
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        let request = rig.session.download("\(server.url)\(number)", to: rig.to("file\(number)", .removePreviousFile))
        group.addTask {
          if number % 4 == 2 {
            try? await self.begun(request)
            request.cancel()
          }
          _ = await request.plainResponse()
        }
      }
    }
    try await rig.isClean()
    #expect(try rig.names().count == 100)
    rig.session.invalidateAndCancel()
    // Those of connections go too; the others' tests may open some.
    try await eventually("descriptors are closed") { try ThisProcess.openDescriptors < before + 60 }
  }
}
