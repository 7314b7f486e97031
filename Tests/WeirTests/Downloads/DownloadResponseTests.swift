import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

@Suite("§9-§11, §24 Downloads: responses, validation, tasks", .timeLimit(.minutes(5)))
struct DownloadResponseTests {
  private static let json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}"

  private struct Value: Codable, Equatable, Sendable {
    let a: Int
  }

  @Test("§10 Each handler gets its value of one and the same file, which stays")
  func handlers() async throws {
    let server = try answering(Self.json)
    let rig = try DownloadRig()
    let heard = Journal<String>()
    let request = rig.session.download(server.url, to: rig.to("file"))
    request.response { heard.append("1 \($0.value??.lastPathComponent ?? "")") }
      .responseURL { heard.append("2 \($0.value?.lastPathComponent ?? "")") }
      .responseData { heard.append("3 \($0.value?.count ?? 0)") }
      .responseString { heard.append("4 \($0.value ?? "")") }
      .responseDecodable(of: Value.self) { heard.append("5 \($0.value?.a ?? 0)") }
      .response(responseSerializer: .string) { heard.append("6 \($0.value ?? "")") }
      .response(responseSerializer: .url) { heard.append("7 \($0.value?.lastPathComponent ?? "")") }
    await heard.wait { $0.count == 7 }
    #expect(
      heard.entries == ["1 file", "2 file", "3 7", "4 {\"a\":1}", "5 1", "6 {\"a\":1}", "7 file"])
    #expect(try rig.text("file") == "{\"a\":1}")
    #expect(await request.serializingString().value(or: "") == "{\"a\":1}", "also afterwards")
  }

  @available(*, deprecated)
  @Test func json() async throws {
    let server = try answering(Self.json)
    let rig = try DownloadRig()
    let value = Journal<Int>()
    rig.session.download(server.url, to: rig.to("file")).responseJSON { response in
      value.append(((response.value as? [String: any Sendable])?["a"] as? NSNumber)?.intValue ?? 0)
    }
    await value.wait { !$0.isEmpty }
    #expect(value.entries == [1])
  }

  @Test("§10 Files are never read on the loop")
  func whereFilesAreRead() async throws {
    struct Spy: DownloadResponseSerializerProtocol {
      let loop: @Sendable () -> Bool
      func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
      ) throws -> Bool { loop() }
    }
    let server = try answering(Self.json)
    let rig = try DownloadRig()
    let loop = rig.session.context.loop
    let spy = Spy { loop.isCurrent }
    #expect(await rig.session.download(server.url).serializingDownload(using: spy).value(or: true) == false)
  }

  @Test("§10 Empty files, and errors of serializers")
  func emptyFiles() async throws {
    let empty = try answering(okResponse(""))
    let rig = try DownloadRig()
    let data = await rig.session.download(empty.url).serializingData().result
    guard case .failure(.responseSerializationFailed(.inputDataNilOrZeroLength)) = data else {
      Issue.record("\(data)")
      return
    }
    let allowed = await rig.session.download(empty.url).serializingData(emptyResponseCodes: [200]).result
    #expect(try allowed.get() == Data())
    let failed = await rig.session.download("http://127.0.0.1:1/").serializingString().result
    guard case .failure(let error) = failed else { return }
    #expect(error.urlErrorCode == .cannotConnectToHost)
  }

  @Test("§9 The response says what came of it")
  func parts() async throws {
    let server = try answering(Self.json)
    let rig = try DownloadRig()
    let response = await rig.session.download(server.url, to: rig.to("file")).serializingDecodable(Value.self).response
    #expect(response.fileURL == rig.url("file") && response.resumeData == nil && response.value == Value(a: 1))
    #expect(response.request?.url?.absoluteString == server.url && response.response?.statusCode == 200)
    #expect(response.metrics?.statusCode == 200 && response.serializationDuration > 0)
    #expect(response.timeline.totalDuration > 0)
    #expect(response.debugDescription.contains("[File URL]") && !response.debugDescription.contains("[Body]: 7"))
  }

  // MARK: §11

  @Test("§11 Status and content type")
  func validation() async throws {
    let server = try answering(Self.json)
    let empty = try answering(okResponse(""))
    let rig = try DownloadRig()
    func failure(_ url: String, _ change: (DownloadRequest) -> DownloadRequest) async -> WeirError? {
      await change(rig.session.download(url)).plainResponse().error
    }
    #expect(await failure(server.url) { $0.validate() } == nil)
    #expect(await failure(server.url) { $0.validate(statusCode: 200..<300) } == nil)
    #expect(await failure(server.url) { $0.validate(statusCode: [404]) }?.responseCode == 200)
    #expect(await failure(server.url) { $0.validate(contentType: ["application/*"]) } == nil)
    #expect(
      await failure(server.url) { $0.validate(contentType: ["text/html"]) }?.responseContentType == "application/json")
    #expect(await failure(empty.url) { $0.validate(contentType: ["text/html"]) } == nil, "an empty file passes")
    let page = await rig.session.download(server.url, headers: ["Accept": "image/png"]).validate().plainResponse().error
    #expect(page?.acceptableContentTypes == ["image/png"])
  }

  @Test("§11 Custom validations see the file")
  func customValidation() async throws {
    let server = try answering(Self.json)
    let rig = try DownloadRig()
    let seen = Journal<String>()
    let response = await rig.session.download(server.url, to: rig.to("file"))
      .validate { request, head, url in
        seen.append("\(request?.httpMethod ?? "") \(head.statusCode) \(url?.lastPathComponent ?? "")")
        return .success(())
      }
      .validate { _, _, _ in .failure(SampleError()) }
      .validate { _, _, _ in
        seen.append("never")
        return .success(())
      }.plainResponse()
    #expect(seen.entries == ["GET 200 file"])
    guard case .responseValidationFailed(.customValidationFailed)? = response.error else {
      Issue.record("\(response)")
      return
    }
  }

  // MARK: §24

  @Test("§24 A cancelled Swift task cancels the download; not where that is turned off")
  func automaticCancelling() async throws {
    let server = try ScriptedServer(cutOff("0123456789", after: 4, closes: false))
    let rig = try DownloadRig()
    let request = rig.session.download(server.url)
    let awaiting = Task { await request.serializingDownloadedFileURL().response }
    try await eventually("it has begun") { request.task?.countOfBytesReceived == 4 }
    awaiting.cancel()
    #expect(await awaiting.value.error?.isExplicitlyCancelledError == true)
    #expect(request.isCancelled)
    try await rig.isClean()

    let whole = try answering(okResponse("body"))
    let kept = rig.session.download(whole.url, to: rig.to("file"))
    let patient = Task {
      try? await letPass(60)
      return await kept.serializingDownloadedFileURL(automaticallyCancelling: false).response
    }
    patient.cancel()
    #expect(await patient.value.value == rig.url("file"))
  }

  @Test func tasksSteerTheirRequest() async throws {
    let server = try answering(okResponse("body"))
    let rig = try DownloadRig()
    let request = rig.session.download(server.url, shouldAutomaticallyResume: false, to: rig.to("file"))
    let task = request.serializingData()
    #expect(request.isInitialized)
    task.suspend()
    #expect(request.isSuspended)
    task.resume()
    #expect(try await task.value == Data("body".utf8))
    #expect(await task.response.fileURL == rig.url("file"))
    // It must not end by itself first.
    let cancelled = rig.session.download(server.url, shouldAutomaticallyResume: false).serializingString()
    cancelled.cancel()
    let error = await cancelled.result
    guard case .failure(.explicitlyCancelled) = error else {
      Issue.record("\(error)")
      return
    }
  }

  @Test("§5 Eager sessions set downloads up, and wait for resume()")
  func eager() async throws {
    let server = try answering(okResponse("body"))
    let directory = try TemporaryDirectory()
    var configuration = SessionConfiguration.default
    configuration.downloadDirectory = "\(directory.path)/partial"
    let session = Session(configuration: configuration, requestSetup: .eager)
    let request = session.download(server.url)
    try await eventually("the task is made") { request.task != nil }
    #expect(server.connectionCount == 0)
    #expect(await request.plainResponse().error == nil)
  }
}

extension DownloadTask {
  fileprivate func value(or other: Value) async -> Value { (try? await value) ?? other }
}
