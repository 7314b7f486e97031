import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

@Suite("§8.2 Uploads", .slow, .timeLimit(.minutes(5)))
struct UploadTests {
  private static let wanted: Script = Script(.request, .send(okResponse("taken")), .awaitClose)

  @Test("Data and files go out with their Content-Length, by POST unless told otherwise", arguments: [0, 5, 300_000])
  func lengths(size: Int) async throws {
    let bytes = pattern(size)
    let scratch = try Scratch()
    let file = try scratch.file(bytes)
    let server = try ScriptedServer(Script(.forever([.request, .send(okResponse("taken"))])))
    let session = Session()
    let put = try URLRequest(url: server.url, method: .put)
    let uploads = [
      session.upload(Data(bytes), to: server.url, headers: ["X-Mine": "1"]),
      session.upload(Data(bytes), with: put),
      session.upload(file, to: server.url, method: .patch) { $0.setValue("2", forHTTPHeaderField: "X-Mine") },
      session.upload(file, with: put),
    ]
    let lines = ["POST / HTTP/1.1", "PUT / HTTP/1.1", "PATCH / HTTP/1.1", "PUT / HTTP/1.1"]
    for upload in uploads { #expect(await upload.serializingString().response.value == "taken") }
    let text = server.receivedText()
    for line in lines { #expect(text.contains(line + "\r\n")) }
    #expect(text.components(separatedBy: "\r\nContent-Length: \(size)\r\n").count == 5)
    #expect(!text.contains("Transfer-Encoding") && !text.contains("Expect"))
    #expect(text.contains("X-Mine: 1\r\n") && text.contains("X-Mine: 2\r\n"))
    #expect(server.connectionCount == 1)
  }

  @Test("The bytes are those of the data or the file", arguments: [1, 65_536, 65_537, 3_000_001])
  func bytes(size: Int) async throws {
    let bytes = pattern(size)
    let scratch = try Scratch()
    let server = try ScriptedServer(Self.wanted, Self.wanted)
    for (index, uploadable) in [
      UploadRequest.Uploadable.data(Data(bytes)), .file(try scratch.file(bytes), shouldRemove: false),
    ].enumerated() {
      let session = Session()
      let url = server.url
      let upload = MadeUpload(url: url) { uploadable }
      #expect(await session.upload(upload).serializingString().response.value == "taken")
      #expect(server.body(on: index) == bytes)
    }
  }

  @Test("The URL request's own body is not sent")
  func ignoredBody() async throws {
    let server = try ScriptedServer(Self.wanted)
    var urlRequest = try URLRequest(url: server.url, method: .post)
    urlRequest.httpBody = Data("not this".utf8)
    let session = Session()
    #expect(await session.upload(Data("but this".utf8), with: urlRequest).plainResponse().error == nil)
    #expect(server.body() == Array("but this".utf8))
  }

  @Test("A Content-Length or Expect of the caller's is not sent with data; a wrong one would spoil the next request")
  func framing() async throws {
    let server = try ScriptedServer(Self.wanted)
    let session = Session()
    let request = session.upload(
      Data("five5".utf8), to: server.url, headers: ["Content-Length": "3", "Transfer-Encoding": "chunked"])
    #expect(await request.plainResponse().error == nil)
    #expect(server.headLines().contains("Content-Length: 5"))
    #expect(!server.receivedText().contains("Transfer-Encoding"))
  }

  @Test("Nothing is built or made before the request is resumed, and the properties say what was given")
  func lazy() async throws {
    let count = Mutex(0)
    let server = try ScriptedServer(Self.wanted)
    let session = Session(startRequestsImmediately: false)
    let manager = NotingFileManager()
    let upload = MadeUpload(url: server.url) {
      count.withLock { $0 += 1 }
      return .data(Data("x".utf8))
    }
    let request = session.upload(upload, fileManager: manager)
    let value = request.serializingString()
    await session.loopTurn()
    #expect(count.withLock { $0 } == 0 && request.uploadable == nil && request.requests.isEmpty)
    #expect(request.fileManager === manager && request.upload is MadeUpload && request.convertible is MadeUpload)
    request.resume()
    #expect(await value.response.value == "taken")
    guard case .data(Data("x".utf8))? = request.uploadable else {
      Issue.record("\(String(describing: request.uploadable))")
      return
    }
    #expect(count.withLock { $0 } == 1)
  }

  @Test("An eager one has its body and its task before it is resumed")
  func eager() async throws {
    let server = try ScriptedServer(Self.wanted)
    let scratch = try Scratch()
    let file = try scratch.file([1, 2, 3])
    let session = Session(startRequestsImmediately: false, requestSetup: .eager)
    let request = session.upload(file, to: server.url)
    try await eventually("the task is there") { request.task != nil }
    #expect(request.uploadable != nil && request.state == .initialized && server.connectionCount == 0)
    #expect(await request.resume().serializingString().response.value == "taken")
    #expect(server.body() == [1, 2, 3])
  }

  @Test("The body is made after adaptation, again for each retry, on the request queue where there is one")
  func order() async throws {
    let key = DispatchSpecificKey<Bool>()
    let queue = DispatchQueue(label: "requests")
    queue.setSpecific(key: key, value: true)
    let steps = Journal<String>()
    let bodies = Turn(["one", "two"])
    let server = try answeringInTurn(response("503 Busy"), okResponse("fine"))
    let adapter = Adapter {
      steps.append("adapt")
      $2(.success($0))
    }
    let policy = RetryPolicy(exponentialBackoffScale: 0, retryableHTTPMethods: [.post])
    let session = Session(
      requestQueue: queue, interceptor: Interceptor(adapters: [adapter], retriers: [policy]))
    let upload = MadeUpload(url: server.url) {
      steps.append(DispatchQueue.getSpecific(key: key) == true ? "make" : "make elsewhere")
      return .data(Data((bodies.next() ?? "").utf8))
    }
    let request = session.upload(upload).validate()
    #expect(await request.serializingString().response.value == "fine")
    #expect(steps.entries == ["adapt", "make", "adapt", "make"])
    let text = server.receivedText()
    #expect(text.contains("\r\n\r\none") && text.hasSuffix("\r\n\r\ntwo"))
    #expect(request.retryCount == 1)
  }

  @Test("Without a request queue a body that may take long is made by a worker, and holds up no other request")
  func slowBody() async throws {
    let server = try ScriptedServer(.answering(okResponse("quick")))
    let session = Session()
    let (entered, gate) = (Latch(), Gate())
    let slow = session.upload(
      MadeUpload(url: server.url) {
        entered.open()
        gate.wait()
        return .data(Data())
      })
    let waiting = slow.serializingString()
    await entered.wait()
    #expect(await session.request(server.url).serializingString().response.value == "quick")
    gate.open()
    #expect(await waiting.response.value == "quick")
  }

  @Test("Bodies whose makers wait hold up no file")
  func waitingMakers() async throws {
    let server = try ScriptedServer(.answering(okResponse("quick")))
    let rig = try DownloadRig()
    let (entered, gate) = (Journal<Int>(), Gate())
    let waiting = (0..<4).map { number in
      rig.session.upload(
        MadeUpload(url: server.url) {
          entered.append(number)
          gate.wait()
          return .data(Data())
        }
      ).serializingString()
    }
    await entered.wait { $0.count == 4 }
    #expect(await rig.session.download(server.url).serializingString().response.value == "quick")
    gate.open()
    for task in waiting { #expect(await task.response.value == "quick") }
  }

  @Test(
    "A compressor's closure is asked on the request queue; without one by a reader, or on the loop about little",
    arguments: [true, false], [10, 100_000])
  func compressorsClosure(hasQueue: Bool, size: Int) async throws {
    let key = DispatchSpecificKey<Bool>()
    let queue = DispatchQueue(label: "requests")
    queue.setSpecific(key: key, value: true)
    let server = try ScriptedServer(Script(.head, .chunkedBody, .send(okResponse("taken")), .awaitClose))
    let session = Session(requestQueue: hasQueue ? queue : nil)
    let places = Journal<[Bool]>()
    let loop = session.context.loop
    let compressor = GzipRequestCompressor(compressesUploads: true) { data in
      places.append([data.count == size, DispatchQueue.getSpecific(key: key) == true, loop.isCurrent])
      return true
    }
    let request = session.upload(Data(count: size), to: server.url, interceptor: compressor)
    #expect(await request.serializingString().response.value == "taken")
    #expect(places.entries == [[true, hasQueue, !hasQueue && size == 10]])
    #expect(request.request?.headers["Content-Encoding"] == "gzip")
  }

  @Test("A request that is cancelled while a compressor's closure is asked sends nothing")
  func cancelledWhileCompressorIsAsked() async throws {
    let session = Session()
    let (entered, gate) = (Latch(), Gate())
    let compressor = GzipRequestCompressor(compressesUploads: true) { _ in
      entered.open()
      gate.wait()
      return true
    }
    let request = session.upload(Data(count: 100_000), to: "http://127.0.0.1:1/", interceptor: compressor)
    let waiting = request.serializingString()
    await entered.wait()
    request.cancel()
    #expect(await waiting.response.error?.isExplicitlyCancelledError == true)
    gate.open()
    for _ in 0..<20 { await session.loopTurn() }
    #expect(request.tasks.isEmpty && request.uploadable == nil)
  }

  @Test("A body that can't be made fails the request, which has no task; retriers are asked")
  func makingFails() async throws {
    let asked = Journal<String>()
    let turns = Turn([true, false])
    let server = try ScriptedServer(Self.wanted)
    let session = Session(
      interceptor: Retrier {
        asked.append($2.asWeirError?.label ?? "")
        $3($0.retryCount == 0 ? .retry : .doNotRetry)
      })
    let request = session.upload(
      MadeUpload(url: server.url) {
        if turns.next() == true { throw SampleError() }
        return .data(Data("x".utf8))
      })
    #expect(await request.serializingString().response.value == "taken")
    #expect(asked.entries == ["create_uploadable_failed"])
    #expect(request.tasks.count == 1 && request.retryCount == 1)

    let failing = session.upload(MadeUpload(url: server.url) { throw SampleError() })
    let error = await failing.plainResponse().error
    #expect(error?.isCreateUploadableError == true && error?.underlyingError is SampleError)
    #expect(failing.tasks.isEmpty && failing.outcome == .creationFailed)
    let own = session.upload(
      MadeUpload(url: server.url) { throw WeirError.parameterEncodingFailed(reason: .missingURL) })
    #expect(await own.plainResponse().error?.isParameterEncodingError == true)
  }

  @Test("A URL request without a URL is refused as ever")
  func noURL() async throws {
    var urlRequest = try URLRequest(url: "http://h/", method: .post)
    urlRequest.url = nil
    let session = Session()
    let form = MultipartFormData()
    form.append(Data([1]), withName: "a")
    let uploads = [
      session.upload(Data([1]), with: urlRequest), session.upload(InputStream(data: Data([1])), with: urlRequest),
      session.upload(multipartFormData: form, with: urlRequest),
    ]
    for upload in uploads {
      let response = await upload.plainResponse()
      #expect(response.error?.isSessionTaskError == true, "\(response)")
    }
  }

  @Test("A second attempt beside a slow one sends the same body, unless that is a stream")
  func hedges() async throws {
    let scratch = try Scratch()
    let file = try scratch.file(pattern(100_000))
    for isStream in [false, true] {
      let second = Gate()
      // A second attempt of the stream would begin within its time.
      let slow: Script.Step = isStream ? .sleep(0.3) : .wait(second)
      let server = try ScriptedServer(
        Script(.head, .bytes(isStream ? 1 : 100_000), slow, .send(okResponse("first")), .awaitClose),
        Script(.request, .send(okResponse("second")), .awaitClose))
      let session = Session()
      let request =
        isStream
        ? session.upload(InputStream(data: Data([1])), to: server.url, method: .put, headers: ["Content-Length": "1"])
        : session.upload(file, to: server.url, method: .put)
      let value = await request.hedge(after: .seconds(0.05)).serializingString().response.value
      #expect(value == (isStream ? "first" : "second"))
      second.open()
      if !isStream { #expect(server.body(on: 1) == pattern(100_000)) }
    }
  }

  @Test("What comes back is a data request's response")
  func dataResponse() async throws {
    struct Answer: Decodable, Equatable { let id: Int }
    let server = try ScriptedServer(Script(.request, .send(response("201 Created", body: #"{"id": 7}"#)), .awaitClose))
    let session = Session()
    let request = session.upload(Data("x".utf8), to: server.url).validate()
    let response = await request.serializingDecodable(Answer.self).response
    #expect(response.value == Answer(id: 7) && response.response?.statusCode == 201)
    #expect(response.metrics?.bytesSent == 1)
    #expect(request.data == Data(#"{"id": 7}"#.utf8))
  }
}
