import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirCompression
import WeirTestSupport

/// What requests tell of the time they took and the connection they used.
@Suite("Measurements", .timeLimit(.minutes(5)))
struct MeasurementTests {
  @Test("A new connection has its phases, a used one does not have them again")
  func connections() async throws {
    let server = try answering(okResponse("body"))
    let session = Session()
    let first = session.request(server.url)
    #expect(await first.serializingString().response.value == "body")
    let second = session.request(server.url)
    let response = await second.serializingString().response
    let metrics = try #require(first.metrics)
    #expect(!metrics.isReusedConnection)
    #expect(metrics.connect != nil)
    #expect(metrics.tls == nil)
    let reused = try #require(second.metrics)
    #expect(response.metrics == reused)
    #expect(reused.isReusedConnection)
    #expect(reused.nameLookup == nil && reused.connect == nil && reused.tls == nil)
    for metrics in [metrics, reused] {
      #expect(metrics.statusCode == 200)
      #expect(metrics.networkProtocolName == "http/1.1")
      #expect(metrics.remoteAddress == "127.0.0.1")
      #expect(metrics.remotePort == server.port)
      #expect(metrics.bytesReceivedOnWire == 4)
      #expect(metrics.bytesDecoded == 4)
      #expect(metrics.bytesSent == 0)
      #expect(metrics.redirectCount == 0)
      #expect(metrics.contentEncoding == nil)
      let phases = [metrics.queue, metrics.connect, metrics.send, metrics.processing, metrics.transfer]
      let total = try #require(metrics.total)
      #expect(phases.compactMap { $0 }.allSatisfy { $0 >= 0 })
      #expect(phases.compactMap { $0 }.reduce(0, +) <= total + 0.05)
      #expect(metrics.send != nil && metrics.processing != nil && metrics.transfer != nil)
      #expect(abs(metrics.taskInterval.duration - total) < 0.001)
    }
    await session.loopTurn()
  }

  @Test("Time goes to the phase in which it was spent")
  func phases() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(
        .request, .sleep(1), .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha"), .wait(gate), .sleep(0.15),
        .send("lf"),
        .awaitClose))
    let session = Session(eventMonitors: [AtFirstData { gate.open() }])
    let response = await session.request(server.url).serializingString().response
    let metrics = try #require(response.metrics)
    // A busy machine may stamp the end of sending when the server has been asleep for a while.
    #expect(metrics.processing ?? 0 >= 0.05)
    #expect(metrics.transfer ?? 0 >= 0.15)
    #expect(metrics.total ?? 0 >= 1.15)
    let timeline = response.timeline
    #expect(timeline.latency >= 1)
    #expect(timeline.requestDuration >= 1.15)
    #expect(timeline.latency <= timeline.requestDuration - 0.1)
    #expect(timeline.totalDuration >= timeline.requestDuration)
    #expect(abs(timeline.requestDuration + timeline.serializationDuration - timeline.totalDuration) < 0.001)
    #expect(abs(timeline.requestStartTime - Date.timeIntervalSinceReferenceDate) < 60)
    await session.loopTurn()
  }

  @Test("The bytes of a body that was sent are counted, and those of one that was coded")
  func bytes() async throws {
    let text = String(repeating: "measured ", count: 1_000)
    let coded = try Compression.deflate(Array(text.utf8), .gzip)
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n"
    let server = try ScriptedServer(Script(.request, .send(Array(head.utf8) + coded), .awaitClose))
    let session = Session()
    var urlRequest = try URLRequest(url: server.url, method: .put)
    urlRequest.httpBody = Data(repeating: 1, count: 1_000)
    let response = await session.request(urlRequest).serializingString().response
    #expect(response.value == text)
    let metrics = try #require(response.metrics)
    #expect(metrics.bytesSent == 1_000)
    #expect(metrics.bytesReceivedOnWire == Int64(coded.count))
    #expect(metrics.bytesDecoded == 9_000)
    #expect(metrics.contentEncoding == "gzip")
  }

  @Test("One entry per attempt, of a retried request too; its timeline is that of the last attempt")
  func retried() async throws {
    let server = try ScriptedServer(
      Script(
        .request, .sleep(0.1), .send(response("503 Busy", body: "busy!")), .request, .send(okResponse("ok")),
        .awaitClose))
    let session = Session(interceptor: RetryPolicy(exponentialBackoffScale: 0.05))
    let request = session.request(server.url).validate()
    let response = await request.serializingString().response
    #expect(response.value == "ok")
    #expect(request.allMetrics.map(\.statusCode) == [503, 200])
    #expect(request.allMetrics.map(\.bytesReceivedOnWire) == [5, 2])
    #expect(request.allMetrics.map(\.isReusedConnection) == [false, true])
    #expect(request.firstMetrics == request.allMetrics.first)
    #expect(request.lastMetrics == request.allMetrics.last)
    #expect(response.metrics == request.lastMetrics)
    let intervals = request.allMetrics.map(\.taskInterval)
    #expect(intervals[0].end.addingTimeInterval(0.04) <= intervals[1].start, "the delay belongs to no attempt")
    #expect(intervals[0].duration >= 0.1)
    #expect(response.timeline.requestStartTime > intervals[0].start.timeIntervalSinceReferenceDate + 0.1)
    #expect(request.duration ?? 0 >= 0.15, "the request's own duration covers all of it")
    await session.loopTurn()
  }

  @Test("A connection that was refused leaves metrics without a connection")
  func refused() async throws {
    let hole = try BlackHole()
    hole.stop()
    let session = Session()
    let response = await session.request(hole.url).serializingString().response
    #expect(response.error?.urlErrorCode == .cannotConnectToHost)
    let metrics = try #require(response.metrics)
    #expect(metrics.statusCode == nil)
    #expect(metrics.networkProtocolName == nil)
    #expect(metrics.remoteAddress == nil || metrics.remoteAddress == "127.0.0.1")
    #expect(metrics.send == nil && metrics.processing == nil && metrics.transfer == nil && metrics.tls == nil)
    #expect(metrics.bytesReceivedOnWire == 0 && metrics.bytesSent == 0 && metrics.bytesDecoded == 0)
    #expect(metrics.total ?? -1 >= 0)
    #expect(response.timeline.latency >= 0)
    #expect(response.timeline.totalDuration >= response.timeline.requestDuration)
    await session.loopTurn()
  }

  @Test("A response that broke off has what had come until then")
  func brokenOff() async throws {
    let server = try ScriptedServer(Script(.request, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten bytes.")))
    let session = Session()
    let response = await session.request(server.url).serializingString().response
    #expect(response.error?.urlErrorCode == .networkConnectionLost)
    let metrics = try #require(response.metrics)
    #expect(metrics.statusCode == 200)
    #expect(metrics.bytesReceivedOnWire == 10)
    #expect(metrics.connect != nil && metrics.processing != nil)
    await session.loopTurn()
  }

  @Test("A request that failed before it had a task has no metrics, and a timeline without negative durations")
  func withoutATask() async {
    let session = Session(interceptor: Adapter { $2(.failure(SampleError())) })
    let request = session.request("http://127.0.0.1:1/")
    let response = await request.serializingString().response
    #expect(response.metrics == nil)
    #expect(request.allMetrics.isEmpty)
    let timeline = response.timeline
    #expect(timeline.latency >= 0)
    #expect(timeline.requestDuration >= 0)
    #expect(timeline.serializationDuration >= 0)
    #expect(timeline.requestStartTime > 0)
  }

  @Test("Redirects are summed into their attempt")
  func redirects() async throws {
    let server = try ScriptedServer(
      Script(
        .request, .sleep(0.5), .send(response("302 Found", ["Location: /next"], body: "moved")), .request,
        .sleep(0.5), .send(okResponse("there")), .awaitClose))
    let session = Session()
    let request = session.request(server.url)
    let response = await request.serializingString().response
    #expect(response.value == "there")
    let metrics = try #require(response.metrics)
    #expect(request.allMetrics == [metrics])
    #expect(metrics.redirectCount == 1)
    #expect(metrics.processing ?? 0 >= 0.05)
    #expect(metrics.bytesReceivedOnWire == 10)
    #expect(metrics.bytesDecoded == 5, "a redirect's body is not decoded")
    #expect(metrics.connect != nil)
    await session.loopTurn()
  }

  @Test("Each handler's timeline ends when its own value was ready")
  func handlers() async throws {
    struct Slow: DataResponseSerializerProtocol {
      func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
      ) throws -> Int {
        letPass(0.05)
        return 1
      }
    }
    let server = try answering(okResponse("x"))
    let session = Session(serializationQueue: DispatchQueue(label: "serialization"))
    let request = session.request(server.url)
    async let first = request.serializingResponse(using: Slow()).response
    async let second = request.serializingResponse(using: Slow()).response
    let responses = await [first, second].sorted {
      $0.timeline.serializationCompletedTime < $1.timeline.serializationCompletedTime
    }
    let ends = responses.map(\.timeline.serializationCompletedTime)
    #expect(ends[1] - ends[0] >= 0.049)
    #expect(responses[0].timeline.requestCompletedTime == responses[1].timeline.requestCompletedTime)
    #expect(responses.allSatisfy { $0.serializationDuration >= 0.05 })
    #expect(responses[0].timeline.serializationDuration >= 0.05)
    #expect(request.serializationDuration ?? 0 >= 0.1)
    await session.loopTurn()
  }

  @Test("A cancelled attempt and one that waited in vain have their entries too")
  func cancelled() async throws {
    let hole = try BlackHole()
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = 1
    let session = Session(configuration: configuration)
    let sent = session.request(hole.url)
    let first = sent.serializingString()
    try await eventually("it has arrived") { !hole.received().isEmpty }
    let waiting = session.request(hole.url)
    let second = waiting.serializingString()
    try await eventually("it waits") { waiting.task != nil }
    await session.loopTurn()
    waiting.cancel()
    #expect(await second.response.error?.isExplicitlyCancelledError == true)
    sent.cancel()
    #expect(await first.response.error?.isExplicitlyCancelledError == true)
    #expect(waiting.allMetrics.count == 1)
    #expect(waiting.metrics?.queue ?? -1 >= 0)
    #expect(waiting.metrics?.connect == nil)
    #expect(waiting.attemptCount == 0)
    #expect(sent.allMetrics.count == 1)
    #expect(sent.metrics?.connect != nil)
    #expect(sent.attemptCount == 1)
  }
}
