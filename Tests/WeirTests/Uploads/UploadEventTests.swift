import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

@Suite("§25 Order of events of uploads", .timeLimit(.minutes(5)))
struct UploadEventTests {
  private static let transfer = ["createTask", "resumeTask"]
  private static let answered = [
    "·response", "·data", "·metrics", "gatherMetrics", "·complete", "completeTask", "finish", "parse",
  ]

  private func names(_ recorder: EventRecorder) -> [String] {
    #expect(recorder.violations.entries == [])
    return recorder.names
  }

  @Test("didCreateUploadable comes after adaptation and before didCreateURLRequest", arguments: [true, false])
  func success(isFile: Bool) async throws {
    let scratch = try Scratch()
    let file = try scratch.file([1])
    let server = try ScriptedServer(Script(.request, .send(okResponse("taken")), .awaitClose))
    let recorder = EventRecorder()
    let session = Session(interceptor: Adapter { $2(.success($0)) }, eventMonitors: [recorder])
    let request = isFile ? session.upload(file, to: server.url) : session.upload(Data([1]), to: server.url)
    _ = await request.plainResponse()
    #expect(
      names(recorder) == ["resume", "createInitial", "adapt", "createUploadable", "create"] + Self.transfer
        + Self.answered)
  }

  @Test("Of a stream, that it is needed and given when reading begins")
  func stream() async throws {
    let server = try ScriptedServer(Script(.head, .chunkedBody, .send(okResponse("taken")), .awaitClose))
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    _ = await session.upload(InputStream(data: Data(pattern(100_000))), to: server.url).plainResponse()
    #expect(
      names(recorder) == ["resume", "createInitial", "createUploadable", "create"] + Self.transfer
        + ["·needsStream", "provideStream"] + Self.answered)
  }

  @Test("An eager one has its creation before resume")
  func eager() async throws {
    let server = try ScriptedServer(Script(.request, .send(okResponse("taken")), .awaitClose))
    let recorder = EventRecorder()
    let session = Session(startRequestsImmediately: false, requestSetup: .eager, eventMonitors: [recorder])
    let request = session.upload(Data([1]), to: server.url)
    await recorder.events.wait(for: "createTask")
    _ = await request.resume().plainResponse()
    #expect(
      names(recorder)
        == ["createInitial", "createUploadable", "create", "createTask", "resume", "resumeTask"] + Self.answered)
  }

  @Test("A body that can't be made: no task, the retriers, the end")
  func failure() async throws {
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(interceptor: Retrier { $3(.doNotRetry) }, eventMonitors: [recorder])
    let request = session.upload(URL(fileURLWithPath: "/nowhere/at/all"), to: "http://127.0.0.1:1/")
    _ = await request.plainResponse()
    #expect(
      names(recorder) == [
        "resume", "createInitial", "failUploadable", "deny(policy)", "finish", "parse(create_uploadable_failed)",
        "settle(file_error)",
      ])
  }

  @Test("A retry makes it again")
  func retry() async throws {
    let server = try answeringInTurn(response("503 Busy"), okResponse("taken"))
    let recorder = EventRecorder()
    let session = Session(
      interceptor: Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) }, eventMonitors: [recorder])
    _ = await session.upload(Data([1]), to: server.url).validate().plainResponse()
    let made = ["createInitial", "createUploadable", "create"] + Self.transfer
    #expect(names(recorder).count { $0 == "createUploadable" } == 2)
    let second = try #require(names(recorder).firstIndex(of: "isRetrying"))
    #expect(Array(names(recorder)[(second + 1)...(second + 5)]) == made)
  }

  @Test("Closures of the events are called")
  func closures() async throws {
    let heard = Journal<String>()
    let monitor = ClosureEventMonitor()
    monitor.requestDidCreateUploadable = { _, _ in heard.append("uploadable") }
    monitor.requestDidFailToCreateUploadableWithError = { _, error in heard.append(error.label) }
    monitor.requestDidProvideInputStream = { _, stream in heard.append("stream \(stream.streamStatus == .error)") }
    monitor.taskNeedNewBodyStream = { _, _ in heard.append("need") }
    let server = try ScriptedServer(Script(.head, .chunkedBody, .send(okResponse("taken")), .awaitClose))
    let session = Session(eventMonitors: [monitor])
    _ = await session.upload(InputStream(data: Data([1])), to: server.url).plainResponse()
    _ = await session.upload(URL(fileURLWithPath: "/nowhere"), to: server.url).plainResponse()
    await heard.wait { $0.count == 4 }
    #expect(heard.entries == ["uploadable", "need", "stream false", "create_uploadable_failed"])
  }

  @Test(
    "Cancelling in the middle of any event ends the request once, and leaves no file behind",
    arguments: ["data", "file", "stream"])
  func cancelAtEveryEvent(kind: String) async throws {
    let scratch = try Scratch()
    var count = 1
    var index = 0
    while index < count {
      let (events, position) = (Journal<String>(), index)
      let slot = RequestSlot()
      let recorder = EventRecorder(into: events, notingAttempts: true) { _ in
        if events.entries.count == position { slot.request?.cancel() }
      }
      let server = try ScriptedServer(
        Script(
          kind == "stream" ? .steps([.head, .chunkedBody]) : .request, .send(response("303 See", ["Location: /next"])),
          .forever([.request, .send(okResponse("fine"))])))
      let session = Session(
        startRequestsImmediately: false, interceptor: Adapter { $2(.success($0)) }, eventMonitors: [recorder])
      let manager = NotingFileManager()
      let file = try scratch.file(pattern(1000), "\(kind)-\(position)")
      let upload = MadeUpload(url: server.url) {
        switch kind {
        case "data": .data(Data(pattern(1000)))
        case "file": .file(file, shouldRemove: true)
        default: .stream(InputStream(data: Data(pattern(1000))))
        }
      }
      let request = session.upload(upload, fileManager: manager).validate()
      slot.request = request
      let calls = Journal<String>()
      request.responseString { calls.append($0.error?.label ?? "success") }
      request.resume()
      await calls.wait { !$0.isEmpty }
      await request.settled()
      let isOpen = position > 0 && events.entries.prefix(position).last?.hasPrefix("settle") != true
      #expect(calls.entries == [isOpen ? "explicitly_cancelled" : "success"], "\(events.entries)")
      #expect(request.tasks.count == request.allMetrics.count, "\(events.entries)")
      #expect(recorder.violations.entries == [])
      #expect(events.entries.count { $0.hasPrefix("settle") } == 1)
      if kind == "file", request.uploadable != nil {
        try await eventually("the file is gone") { manager.removed.entries.count == 1 }
      }
      if position == 0 { count = events.entries.count + 1 }
      slot.request = nil
      index += 1
    }
    #expect(count > 20)
  }
}
