import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// `shouldRemove: true`: the file goes once, when the request has ended, however it ends.
@Suite("§8.2 Uploads: files that are removed", .timeLimit(.minutes(5)))
struct UploadRemovalTests {
  private struct Rig {
    let scratch = try? Scratch()
    let manager = NotingFileManager()

    func file(_ name: String = "file") throws -> URL {
      try #require(scratch).file(pattern(1000), name)
    }

    func upload(_ session: Session, _ file: URL, to url: String) -> UploadRequest {
      session.upload(MadeUpload(url: url) { .file(file, shouldRemove: true) }, fileManager: manager)
    }

    /// The files go, each by one call.
    func expectRemoved(_ names: [String] = ["file"]) async throws {
      try await eventually("the file is gone") { manager.removed.entries.count >= names.count }
      #expect(manager.removed.entries.sorted() == names.sorted())
      // It is noted before it is done.
      let directory = try #require(scratch).directory.path
      try await eventually("nothing is left") {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter { names.contains($0) }.isEmpty
      }
    }
  }

  @Test("After a success, if the request asks for it")
  func success() async throws {
    let rig = Rig()
    let server = try ScriptedServer(.answering { okResponse("taken") })
    let session = Session()
    let kept = try rig.file("kept")
    let other = session.upload(kept, to: server.url, fileManager: rig.manager)
    #expect(await other.plainResponse().error == nil)
    let request = rig.upload(session, try rig.file(), to: server.url)
    #expect(await request.plainResponse().error == nil)
    try await rig.expectRemoved()
    #expect(FileManager.default.fileExists(atPath: kept.path))
  }

  @Test("After a failure, and not between retries")
  func retries() async throws {
    let rig = Rig()
    let file = try rig.file()
    let manager = rig.manager
    let server = try ScriptedServer(.answering { response("503 Busy") })
    let seen = Journal<Bool>()
    let session = Session(
      interceptor: Retrier { request, _, _, completion in
        seen.append(FileManager.default.fileExists(atPath: file.path) && manager.removed.entries.isEmpty)
        completion(request.retryCount < 3 ? .retryWithDelay(0.01) : .doNotRetry)
      })
    let request = rig.upload(session, file, to: server.url).validate()
    #expect(await request.plainResponse().error?.responseCode == 503)
    #expect(seen.entries == [true, true, true, true])
    try await rig.expectRemoved()
  }

  @Test("A file for each attempt: all go in the end")
  func filePerAttempt() async throws {
    let rig = Rig()
    let server = try answeringInTurn(response("503 Busy"), okResponse("taken"))
    let files = Turn([try rig.file("one"), try rig.file("two")])
    let session = Session(interceptor: Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) })
    let upload = MadeUpload(url: server.url) {
      guard let file = files.next() else { throw SampleError() }
      return .file(file, shouldRemove: true)
    }
    let request = session.upload(upload, fileManager: rig.manager).validate()
    #expect(await request.serializingString().response.value == "taken")
    try await rig.expectRemoved(["one", "two"])
  }

  @Test("A file that can't be sent, and one of a request that an adapter or its URL ends before")
  func notSent() async throws {
    let rig = Rig()
    let refusing = Session(interceptor: Adapter { $2(.failure(SampleError())) })
    let given = UploadRequest.Uploadable.file(try rig.file(), shouldRemove: true)
    struct Given: UploadConvertible {
      let uploadable: UploadRequest.Uploadable
      func asURLRequest() throws -> URLRequest { throw SampleError() }
      func createUploadable() throws -> UploadRequest.Uploadable { uploadable }
    }
    // Nobody asked it for the body: whether there will be a file only it knows.
    let request = refusing.upload(Given(uploadable: given), fileManager: rig.manager)
    #expect(await request.plainResponse().error?.isCreateURLRequestError == true)
    #expect(rig.manager.removed.entries.isEmpty)
    // Its place is taken by a directory: that stays.
    let directory = try #require(rig.scratch).directory
    let other = Session().upload(
      MadeUpload(url: "http://127.0.0.1:1/") { .file(directory, shouldRemove: true) }, fileManager: rig.manager)
    _ = await other.plainResponse()
    #expect(FileManager.default.fileExists(atPath: directory.path) && rig.manager.removed.entries.isEmpty)
  }

  @Test("After a cancel at any stage")
  func cancelled() async throws {
    for stage in ["making", "waiting", "connecting", "answering", "delay"] {
      let rig = Rig()
      let file = try rig.file()
      let (entered, gate) = (Latch(), Gate())
      let hole = try BlackHole()
      var configuration = SessionConfiguration.default
      configuration.httpMaximumConnectionsPerHost = 1
      let retries = stage == "delay"
      let session = Session(
        configuration: configuration, interceptor: Retrier { $3(retries ? .retryWithDelay(60) : .doNotRetry) })
      let server = try ScriptedServer(.answering { response("503 Busy") })
      if stage == "waiting" {
        session.request(hole.url).resume()
        try await eventually("the slot is taken") { hole.connectionCount == 1 }
      }
      let upload = MadeUpload(url: retries ? server.url : hole.url) {
        entered.open()
        if stage == "making" { gate.wait() }
        return .file(file, shouldRemove: true)
      }
      let request = session.upload(upload, fileManager: rig.manager).validate()
      let answer = request.serializingData()
      switch stage {
      case "making": await entered.wait()
      case "waiting": try await eventually("the task waits") { request.task != nil }
      case "connecting": await session.loopTurn()
      case "answering": try await eventually("it is sent") { !hole.received().isEmpty }
      default: try await eventually("it waits for its retry") { request.allMetrics.count == 1 }
      }
      request.cancel()
      #expect(await answer.response.error?.isExplicitlyCancelledError == true, "\(stage)")
      gate.open()
      if stage != "connecting" || request.uploadable != nil { try await rig.expectRemoved() }
    }
  }

  @Test("When the session goes, or takes no more requests", arguments: [true, false])
  func sessionLost(isInvalidated: Bool) async throws {
    let rig = Rig()
    let hole = try BlackHole()
    var session: Session? = Session()
    let request = rig.upload(try #require(session), try rig.file(), to: hole.url)
    let answer = request.serializingData()
    try await eventually("it is sent") { !hole.received().isEmpty }
    if isInvalidated { session?.invalidateAndCancel() } else { session = nil }
    #expect(await answer.response.error != nil)
    try await rig.expectRemoved()
    session = nil
  }

  @Test("When its deadline passes")
  func deadline() async throws {
    let rig = Rig()
    let hole = try BlackHole()
    let session = Session()
    let request = rig.upload(session, try rig.file(), to: hole.url).deadline(0.5)
    #expect(await request.plainResponse().error?.urlErrorCode == .timedOut)
    try await rig.expectRemoved()
  }
}
