import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§15 Uploads of forms", .timeLimit(.minutes(5)))
struct MultipartUploadTests {
  private static let wanted: Script = Script(.request, .send(okResponse("taken")), .awaitClose)

  private static func form(_ boundary: String = "b") -> MultipartFormData {
    let form = MultipartFormData(boundary: boundary)
    form.append(Data("value".utf8), withName: "field")
    return form
  }

  private static let encoded =
    "--b\r\nContent-Disposition: form-data; name=\"field\"\r\n\r\nvalue\r\n--b--\r\n"

  @Test("All four makers send the form with its content type in place of another", arguments: 0..<4)
  func makers(index: Int) async throws {
    let server = try ScriptedServer(Self.wanted)
    let session = Session()
    let put = try URLRequest(url: server.url, method: .put, headers: ["content-type": "text/plain"])
    let fill: (MultipartFormData) -> Void = { $0.append(Data("value".utf8), withName: "field") }
    let request =
      switch index {
      case 0: session.upload(multipartFormData: fill, to: server.url, headers: ["Content-Type": "text/plain"])
      case 1: session.upload(multipartFormData: fill, with: put)
      case 2:
        session.upload(multipartFormData: Self.form(), to: server.url) {
          $0.setValue("1", forHTTPHeaderField: "X-Mine")
        }
      default: session.upload(multipartFormData: Self.form(), with: put)
      }
    #expect(await request.serializingString().response.value == "taken")
    let lines = server.headLines()
    #expect(lines.first == (index.isMultiple(of: 2) ? "POST / HTTP/1.1" : "PUT / HTTP/1.1"))
    let type = try #require(lines.first { $0.lowercased().hasPrefix("content-type:") })
    #expect(lines.count { $0.lowercased().hasPrefix("content-type:") } == 1)
    let boundary = try #require(type.components(separatedBy: "boundary=").last)
    #expect(
      String(decoding: server.body(), as: UTF8.self)
        == Self.encoded.replacingOccurrences(of: "--b", with: "--\(boundary)"))
    #expect(lines.contains("Content-Length: \(server.body().count)"))
    guard case .data? = request.uploadable else {
      Issue.record("\(String(describing: request.uploadable))")
      return
    }
  }

  @Test("From the threshold on it is a temporary file, which goes with the request, and is used again by a retry")
  func threshold() async throws {
    let server = try answeringInTurn(response("503 Busy"), okResponse("taken"))
    let files = Journal<URL>()
    let monitor = ClosureEventMonitor()
    monitor.requestDidCreateUploadable = { _, uploadable in
      if case .file(let url, shouldRemove: true) = uploadable { files.append(url) }
    }
    let session = Session(
      interceptor: Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) }, eventMonitors: [monitor])
    let request = session.upload(multipartFormData: Self.form(), to: server.url, usingThreshold: 5).validate()
    #expect(await request.serializingString().response.value == "taken")
    await files.wait { $0.count == 2 }
    let file = try #require(files.entries.first)
    #expect(files.entries == [file, file])
    #expect(file.path.contains("/multipart.form.data/"))
    let bodies = server.receivedText().components(separatedBy: Self.encoded)
    #expect(bodies.count == 3)
    try await eventually("the file is gone") { !FileManager.default.fileExists(atPath: file.path) }
  }

  @Test("A file that an adapter or a cancel leaves unused goes too", arguments: [true, false])
  func unused(isCancelled: Bool) async throws {
    let hole = try BlackHole()
    let session = Session(interceptor: isCancelled ? nil : Adapter { $2(.failure(SampleError())) })
    let request = session.upload(multipartFormData: Self.form(), to: hole.url, usingThreshold: 0)
    let answer = request.serializingData()
    if isCancelled {
      try await eventually("it is made") { request.uploadable != nil }
      request.cancel()
    }
    #expect(await answer.response.error != nil)
    let file = try #require((request.upload as? MultipartUpload)?.uploadable?.temporaryFile)
    try await eventually("the file is gone") { !FileManager.default.fileExists(atPath: file.path) }
  }

  @Test("Encoding runs off the loop, once, on the request queue where there is one")
  func offLoop() async throws {
    let gate = Gate()
    let read = Journal<Bool>()
    final class SlowStream: InputStream {
      let gate: Gate, read: Journal<Bool>
      private var isRead = false
      init(_ gate: Gate, _ read: Journal<Bool>) {
        (self.gate, self.read) = (gate, read)
        super.init(data: Data())
      }
      override var streamStatus: Status { isRead ? .atEnd : .notOpen }
      override var streamError: (any Error)? { nil }
      override var hasBytesAvailable: Bool { !isRead }
      override func open() {}
      override func close() {}
      override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard !isRead else { return 0 }
        isRead = true
        read.append(true)
        gate.wait()
        buffer.pointee = 65
        return 1
      }
    }
    let server = try ScriptedServer(
      .answering(with: { okResponse("quick") }))
    let session = Session(interceptor: Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) })
    let form = MultipartFormData(boundary: "b")
    form.append(SlowStream(gate, read), withLength: 1, name: "n", fileName: "f", mimeType: "text/plain")
    let slow = session.upload(multipartFormData: form, to: server.url).validate(statusCode: [201])
    let waiting = slow.serializingData()
    await read.wait { $0.count == 1 }
    #expect(await session.request(server.url).serializingString().response.value == "quick")
    gate.open()
    #expect(await waiting.response.error?.responseCode == 200)
    #expect(read.entries == [true] && slow.retryCount == 1)
  }

  @Test("What can't be encoded is a multipartEncodingFailed, and nothing is sent")
  func failures() async throws {
    let session = Session()
    let form = MultipartFormData()
    form.append(URL(fileURLWithPath: "/nowhere/at.all"), withName: "file")
    let request = session.upload(multipartFormData: form, to: "http://127.0.0.1:1/")
    #expect(await request.plainResponse().error?.isMultipartEncodingError == true)
    #expect(request.tasks.isEmpty && request.uploadable == nil)
  }

  // MARK: §21

  @Test("Uploads are compressed where that is asked for, whatever they are", arguments: ["data", "file", "stream"])
  func compressed(kind: String) async throws {
    let scratch = try Scratch()
    let bytes = [UInt8](repeating: 65, count: 1 << 20)
    let server = try ScriptedServer(
      Script(
        .head, .chunkedBody, .send(response("307 Moved", ["Location: /next"])), .head, .chunkedBody,
        .send(okResponse("taken")), .awaitClose))
    let session = Session(interceptor: GzipRequestCompressor(compressesUploads: true))
    let request =
      switch kind {
      case "data": session.upload(Data(bytes), to: server.url)
      case "file": session.upload(try scratch.file(bytes), to: server.url)
      default: session.upload(InputStream(data: Data(bytes)), to: server.url, headers: ["Content-Length": "\(1 << 20)"])
      }
    let response = await request.serializingString().response
    if kind == "stream" {
      #expect(response.error?.urlErrorCode == .requestBodyStreamExhausted)
    } else {
      #expect(response.value == "taken", "\(String(describing: response.error))")
    }
    #expect(server.headLines().contains("Content-Encoding: gzip"))
    #expect(server.headLines().contains("Transfer-Encoding: chunked"))
    #expect(server.received().count < 20_000)
    #expect(request.request?.headers["Content-Encoding"] == "gzip")
  }

  @Test("Uploads are left alone unless that is asked for, also when their URL request has a body")
  func notCompressed() async throws {
    let server = try ScriptedServer(Self.wanted)
    let session = Session(interceptor: GzipRequestCompressor())
    var urlRequest = try URLRequest(url: server.url, method: .post)
    urlRequest.httpBody = Data("not this".utf8)
    #expect(await session.upload(Data("plain".utf8), with: urlRequest).serializingString().response.value == "taken")
    #expect(server.body() == Array("plain".utf8))
    #expect(!server.receivedText().contains("Content-Encoding"))
  }

  @Test("A Content-Encoding that is there already is the compressor's error")
  func duplicate() async throws {
    let session = Session(interceptor: GzipRequestCompressor(compressesUploads: true))
    let request = session.upload(Data("x".utf8), to: "http://127.0.0.1:1/", headers: ["Content-Encoding": "br"])
    let error = await request.plainResponse().error
    #expect(error?.isRequestAdaptationError == true)
    #expect(error?.underlyingError is GzipRequestCompressor.DuplicateHeaderError)
    #expect(request.outcome == .adaptationFailed && request.tasks.isEmpty)
  }

  @Test("A retry compresses the body again; a file that has become shorter meanwhile is no whole body")
  func compressedAgain() async throws {
    let scratch = try Scratch()
    let file = try scratch.file(pattern(300_000))
    let server = try ScriptedServer(
      Script(
        .head, .chunkedBody, .send(response("503 Busy")), .head, .chunkedBody, .send(okResponse("taken")), .awaitClose),
      Script(.head, .awaitClose))
    let session = Session(
      interceptor: Interceptor(
        adapters: [GzipRequestCompressor(compressesUploads: true)],
        retriers: [Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) }]))
    #expect(await session.upload(file, to: server.url).validate().serializingString().response.value == "taken")
    let eager = Session(
      startRequestsImmediately: false, requestSetup: .eager,
      interceptor: GzipRequestCompressor(compressesUploads: true))
    let request = eager.upload(file, to: server.url)
    try await eventually("the task is there") { request.task != nil }
    #expect(truncate(file.path, 1000) == 0)
    let error = await request.resume().plainResponse().error
    #expect(error?.urlErrorCode == .cannotOpenFile, "\(String(describing: error))")
    #expect(request.outcome == .fileError)
  }
}
