import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

/// What has come is not lost, and is never taken for more than it is.
@Suite("§8.3 Downloads: nothing that came is lost", .slow, .timeLimit(.minutes(5)))
struct DownloadLossTests {
  private static let body = "0123456789"
  private static let restHead =
    "HTTP/1.1 206 X\r\nETag: \"v1\"\r\nContent-Range: bytes 4-9/10\r\nContent-Length: 6\r\n\r\n"

  /// Resume data of a download from `server` that was cut off after four bytes.
  private func cut(_ rig: DownloadRig, _ server: ScriptedServer) async throws -> Data {
    let first = try ScriptedServer(cutOff(Self.body, after: 4))
    let response = await rig.session.download(first.url).plainResponse()
    var known = try #require(response.resumeData.flatMap { ResumeData($0) })
    known.url = try #require(URL(string: server.url))
    return try #require(known.data)
  }

  private func offset(_ data: Data?) -> Int64? { data.flatMap { ResumeData($0) }?.offset }

  /// All that went out, request by request.
  private func rangeCount(_ server: ScriptedServer, on index: Int) -> Int {
    server.receivedText(on: index).components(separatedBy: "\r\nRange:").count - 1
  }

  // MARK: Hedges

  @Test("A resumed download is not hedged: a rest without what comes before it is no file")
  func hedgedResume() async throws {
    let server = try ScriptedServer(
      Script(.request, .sleep(0.3), .close), Script(.request, .sleep(0.6), .send(rest(Self.body, from: 4))))
    let rig = try DownloadRig()
    let data = try await cut(rig, server)
    let response = await rig.session.download(resumingWith: data, to: rig.to("file")).hedge(after: .seconds(0.02))
      .plainResponse()
    #expect(response.error?.urlErrorCode == .networkConnectionLost, "\(response)")
    #expect(response.resumeData == data && response.error?.downloadResumeData == data)
    #expect(server.connectionCount == 1)
  }

  @Test("Of a hedged download the winner's body is in the file")
  func hedged() async throws {
    let server = try ScriptedServer(Script(.request, .awaitClose), .answering(okResponse(Self.body)))
    let rig = try DownloadRig()
    let response = await rig.session.download(server.url, to: rig.to("file")).hedge(after: .seconds(0.02))
      .plainResponse()
    #expect(response.value == rig.url("file"), "\(response)")
    #expect(try rig.text("file") == Self.body)
    try await rig.isClean()
  }

  // MARK: Cut off again

  @Test("Cut off after the head of the rest, it is resumed where it was")
  func cutBeforeTheFirstByte() async throws {
    let server = try ScriptedServer(
      Script(.request, .send(Self.restHead), .close), .answering(rest(Self.body, from: 4)))
    let rig = try DownloadRig()
    let failed = await rig.session.download(resumingWith: try await cut(rig, server)).plainResponse()
    #expect(failed.error?.urlErrorCode == .networkConnectionLost)
    #expect(offset(failed.resumeData) == 4 && rig.partialFiles.count == 1)
    let again = await rig.session.download(resumingWith: try #require(failed.resumeData), to: rig.to("file"))
      .plainResponse()
    #expect(again.value == rig.url("file"), "\(again)")
    #expect(try rig.text("file") == Self.body)
  }

  @Test("A retry after a rest that was not accepted begins anew")
  func retryAfterValidation() async throws {
    let server = try answeringInTurn(rest(Self.body, from: 4), okResponse("whole"))
    let rig = try DownloadRig(interceptor: Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) })
    let response = await rig.session.download(resumingWith: try await cut(rig, server), to: rig.to("file"))
      .validate { _, response, _ in
        response.statusCode == 206 ? .failure(WeirError.explicitlyCancelled) : .success(())
      }
      .plainResponse()
    #expect(response.value == rig.url("file"), "\(response)")
    #expect(try rig.text("file") == "whole")
    #expect(rangeCount(server, on: 0) == 1, "of two requests the first has a range")
    try await rig.isClean()
  }

  @Test("A retry after a rest that is too long begins anew")
  func retryAfterRemoval() async throws {
    let tooLong =
      "HTTP/1.1 206 X\r\nETag: \"v1\"\r\nContent-Range: bytes 4-9/10\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "9\r\nxxxxxxxxx\r\n0\r\n\r\n"
    let server = try answeringInTurn(tooLong, okResponse("whole"))
    let rig = try DownloadRig(interceptor: Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) })
    let response = await rig.session.download(resumingWith: try await cut(rig, server), to: rig.to("file"))
      .plainResponse()
    #expect(response.value == rig.url("file"), "\(response)")
    #expect(try rig.text("file") == "whole")
    try await rig.isClean()
  }

  // MARK: Not on the wire

  @Test("A retry that fails before it is on the wire leaves what there is; so serve older resume data")
  func retryThatCanNotBegin() async throws {
    struct Refusal: Error {}
    let server = try ScriptedServer(
      Script(.request, .send(Self.restHead + "45"), .close), .answering(rest(Self.body, from: 4)))
    let rig = try DownloadRig()
    let data = try await cut(rig, server)
    let hasRetried = Mutex(false)
    let interceptor = Interceptor(
      adapters: [Adapter { $2(hasRetried.withLock { $0 } ? .failure(Refusal()) : .success($0)) }],
      retriers: [
        Retrier { _, _, _, completion in
          completion(hasRetried.withLock { $0 } ? .doNotRetry : .retry)
          hasRetried.withLock { $0 = true }
        }
      ])
    let request = rig.session.download(resumingWith: data, interceptor: interceptor)
    let failed = await request.plainResponse()
    #expect(failed.error?.isRequestAdaptationError == true, "\(failed)")
    #expect(offset(failed.resumeData) == 6 && failed.resumeData == request.resumeData)
    #expect(rig.partialFiles.count == 1)
    let again = await rig.session.download(resumingWith: data, to: rig.to("file")).plainResponse()
    #expect(again.value == rig.url("file"), "\(again)")
    #expect(try rig.text("file") == Self.body)
  }

  // MARK: A file that somebody holds

  /// Another download's hold on the file that `data` speaks of.
  private func holder(_ data: Data, _ rig: DownloadRig) async throws -> PartialFile {
    let data = try #require(ResumeData(data))
    // The download that has left it may not have let go of it yet.
    return try await eventually("the file is free") {
      try? PartialFile(resuming: data, in: PartialDirectory(rig.partialDirectory))
    }
  }

  @Test("A file that is about to be let go of is waited for")
  func heldForAMoment() async throws {
    let server = try answering(rest(Self.body, from: 4))
    let rig = try DownloadRig()
    let data = try await cut(rig, server)
    let holder = try await holder(data, rig)
    async let response = rig.session.download(resumingWith: data, to: rig.to("file")).plainResponse()
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.2) { holder.close() }
    #expect(await response.value == rig.url("file"))
  }

  @Test("A file that another download goes on with is not")
  func held() async throws {
    let server = try answering(rest(Self.body, from: 4))
    let rig = try DownloadRig()
    let data = try await cut(rig, server)
    let holder = try await holder(data, rig)
    let response = await rig.session.download(resumingWith: data).plainResponse()
    #expect(response.error?.urlErrorCode == .cannotOpenFile && server.connectionCount == 0)
    #expect(response.error?.localizedDescription.contains("another download") == true)
    holder.close()
  }

  // MARK: Two ends

  /// A failed download whose last bytes wait for a worker: four are written, four are not.
  private struct Stuck {
    let request: DownloadRequest
    let workers: Gate

    init(_ rig: DownloadRig, closes: Bool = true, seconds: Double = 60) async throws {
      let more = Gate()
      let server = try ScriptedServer(
        Script(
          .request, .send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 10\r\n\r\n0123"), .wait(more),
          .send("4567"), closes ? .close : .awaitClose))
      let gate = Gate()
      workers = gate
      let request = rig.session.download(server.url).deadline(seconds).resume()
      self.request = request
      try await eventually("four bytes are written") {
        let name = rig.partialFiles.first ?? ""
        return (try? FileSystem.status(ofFile: "\(rig.partialDirectory)/\(name)"))?.size == 4
      }
      // What the loop knows of that.
      await rig.session.loopTurn()
      for _ in 0..<2 { rig.session.context.workers.submit { gate.wait() } }
      more.open()
      try await eventually("four more have come") { request.task?.countOfBytesReceived == 8 }
      if closes {
        try await eventually("the transfer is over") { await rig.session.isDraining(request) }
      }
    }
  }

  @Test("The deadline while a failure's last bytes are written leaves what is known to be")
  func deadlineWhileFlushing() async throws {
    let rig = try DownloadRig()
    let stuck = try await Stuck(rig, seconds: 4)
    let response = await stuck.request.plainResponse()
    #expect(response.error?.urlErrorCode == .timedOut)
    #expect(offset(response.resumeData) == 4)
    #expect(response.resumeData == response.error?.downloadResumeData)
    stuck.workers.open()
    #expect(stuck.request.resumeData == response.resumeData)
  }

  @Test("A cancel that produces, while a failure's last bytes are written, waits for these")
  func cancelWhileFlushing() async throws {
    let rig = try DownloadRig()
    let stuck = try await Stuck(rig)
    async let data = stuck.request.cancelProducing()
    await rig.session.loopTurn()
    stuck.workers.open()
    #expect(offset(await data) == 8)
    #expect(await stuck.request.plainResponse().error?.isExplicitlyCancelledError == true)
  }

  @Test("A cancel that produces does not wait for ever for a worker")
  func cancelWithoutWorkers() async throws {
    let rig = try DownloadRig()
    let stuck = try await Stuck(rig, closes: false)
    #expect(offset(await stuck.request.cancelProducing()) == 4)
    stuck.workers.open()
    let name = try #require(rig.partialFiles.first)
    try await eventually("what nobody knows of is cut off") {
      try FileSystem.status(ofFile: "\(rig.partialDirectory)/\(name)").size == 4
    }
  }

  @Test("The deadline while retriers decide: the error has the resume data")
  func deadlineWhileDeciding() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4))
    let rig = try DownloadRig(interceptor: Retrier { _, _, _, _ in })
    let request = rig.session.download(server.url).deadline(2)
    let response = await request.plainResponse()
    #expect(response.error?.urlErrorCode == .timedOut)
    #expect(offset(response.resumeData) == 4 && response.resumeData == response.error?.downloadResumeData)
    #expect(request.resumeData == request.error?.downloadResumeData)
  }

  @Test("A retrier's own error has the resume data of the one it was asked about")
  func retriersError() async throws {
    struct Refusal: Error {}
    let server = try ScriptedServer(cutOff(Self.body, after: 4))
    let rig = try DownloadRig(interceptor: Retrier { $3(.doNotRetryWithError(Refusal())) })
    let response = await rig.session.download(server.url).plainResponse()
    #expect(offset(response.resumeData) == 4 && response.resumeData == response.error?.downloadResumeData)
  }

  @Test("What was dropped is not offered later")
  func afterwards() async throws {
    let server = try ScriptedServer(cutOff(Self.body, after: 4))
    let rig = try DownloadRig(interceptor: Retrier { $3(.retryWithDelay(30)) })
    let request = rig.session.download(server.url)
    async let response = request.plainResponse()
    await rig.recorder.events.wait { $0.contains { $0.hasPrefix("willRetry") } }
    request.cancel()
    #expect(await response.resumeData == nil)
    await rig.session.loopTurn()
    request.cancel(producingResumeData: true)
    #expect(request.resumeData == nil)
    #expect(await request.cancelProducing() == nil)
    try await rig.isClean()
  }

  // MARK: The slot

  @Test("A destination closure may wait for a request to the same host")
  func destinationNeedsTheSlot() async throws {
    let server = try answering(okResponse(Self.body))
    // The other request can't be built on the queue that the closure blocks.
    let rig = try DownloadRig(
      rootQueue: DispatchQueue(label: "root"), requestQueue: DispatchQueue(label: "requests")
    ) { $0.httpMaximumConnectionsPerHost = 1 }
    let target = rig.url("file")
    let answered = Mutex(false)
    let (session, url) = (rig.session, server.url)
    let place: DownloadRequest.Destination = { _, _ in
      let done = DispatchSemaphore(value: 0)
      session.request(url).response(queue: .global()) { response in
        answered.withLock { $0 = response.error == nil }
        done.signal()
      }
      _ = done.wait(timeout: .now() + 20)
      return (target, [])
    }
    #expect(await session.download(url, to: place).plainResponse().value == target)
    #expect(answered.withLock { $0 })
  }
}

extension Session {
  /// Whether a request's transfer is over and its receiver is not.
  fileprivate func isDraining(_ request: Request) async -> Bool {
    await withCheckedContinuation { continuation in
      context.loop.post {
        let stage = request.context.core.value.pipeline(of: request)?.attempt?.machine.stage
        continuation.resume(returning: stage == .draining)
      }
    }
  }
}
