import Synchronization
import Testing
import Weir
import WeirOTLP
import WeirTestSupport

@testable import WeirExporter

/// The export against collectors that do what scripts say.
@Suite(.timeLimit(.minutes(5))) struct TelemetryExporterTests {
  private static let taken = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

  /// A collector that answers one after the other, and takes everything from then on.
  private static func collector(_ answers: String...) throws -> ScriptedServer {
    let rest = Mutex(answers[...])
    return try ScriptedServer(.answering { rest.withLock { $0.popFirst() } ?? taken })
  }

  /// The numbers of spans of all messages that came, in their order.
  private static func counts(_ server: ScriptedServer) -> [Int] {
    (0..<server.connectionCount).flatMap { index in
      server.receivedText(on: index).split(separator: "spans=").dropFirst().compactMap {
        Int($0.prefix { $0 != ";" })
      }
    }
  }

  @Test func spansGoInBatchesAndTheRestAtTheEnd() async throws {
    let server = try Self.collector()
    let rig = try TelemetryRig(to: server.url) { $0.traces.interval = 3600 }
    let queue = try rig.spans()
    for _ in 0..<600 { queue.add(Span.samples(2)) }
    try await eventually("two batches are there") { rig.exported(.success) == 2 }
    #expect(rig.waiting == 176)
    await rig.exporter.finish(within: 10)
    #expect(Self.counts(server) == [512, 512, 176])
    #expect(rig.waiting == 0 && rig.exported(.success) == 3)
    queue.add(Span.samples(3))
    #expect(rig.dropped(.shutdown) == 3)
    #expect(server.receivedText().contains("POST /v1/traces HTTP/1.1\r\n"))
    #expect(rig.notices.isEmpty)
  }

  @Test func spansGoWhenTheyAreDue() async throws {
    let server = try Self.collector()
    let rig = try TelemetryRig(to: server.url) { $0.traces.interval = 0.02 }
    let queue = try rig.spans()
    for count in 1...3 {
      queue.add(Span.samples(count))
      try await eventually("they are sent") { rig.waiting == 0 }
    }
    #expect(Self.counts(server).reduce(0, +) == 6)
  }

  @Test func fieldsAreSentWithEachMessage() async throws {
    let server = try Self.collector()
    let rig = try TelemetryRig(to: server.url) {
      $0.traces.endpoint.headers = ["api-key": "s3cret"]
      $0.traces.endpoint.compression = .gzip
      $0.traces.ownURL = server.url + "own?a=b"
    }
    try rig.spans().add(Span.samples(1))
    await rig.exporter.finish(within: 10)
    let text = server.receivedText()
    #expect(text.hasPrefix("POST /own?a=b HTTP/1.1\r\n"))
    for field in ["api-key: s3cret", "Content-Encoding: gzip", "Content-Type: application/x-counts"] {
      #expect(text.lowercased().contains("\r\n\(field.lowercased())\r\n"), "\(field)")
    }
    #expect(!text.lowercased().contains("traceparent"))
  }

  @Test func aRefusalLosesItsBatchAlone() async throws {
    let server = try Self.collector("HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nbad")
    let rig = try TelemetryRig(to: server.url) { ($0.batch, $0.traces.interval) = (10, 3600) }
    let queue = try rig.spans()
    queue.add(Span.samples(10))
    try await eventually("it is refused") { rig.exported(.refused) == 1 }
    #expect(rig.dropped(.refused) == 10)
    queue.add(Span.samples(10))
    try await eventually("the next one is taken") { rig.exported(.success) == 1 }
    #expect(rig.notices.map(\.kind) == [.trouble, .recovered])
    #expect(rig.notices.first?.text == "the collector answered 400: bad")
  }

  @Test(arguments: [429, 502, 503, 504]) func whatMayBeRepeatedIs(status: Int) async throws {
    let server = try Self.collector("HTTP/1.1 \(status) X\r\nRetry-After: 0.01\r\nContent-Length: 0\r\n\r\n")
    let rig = try TelemetryRig(to: server.url)
    try rig.spans().add(Span.samples(2))
    await rig.exporter.finish(within: 20)
    #expect(Self.counts(server) == [2, 2])
    #expect(rig.exported(.success) == 1 && rig.exported(.failed) == 0)
  }

  @Test func aLongPauseIsKept() async throws {
    let server = try Self.collector("HTTP/1.1 429 X\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n")
    let rig = try TelemetryRig(to: server.url) { ($0.batch, $0.traces.timeout) = (10, 5) }
    let queue = try rig.spans()
    queue.add(Span.samples(10))
    try await eventually("it has failed") { rig.exported(.failed) == 1 }
    queue.add(Span.samples(10))
    await rig.exporter.finish(within: 5)
    #expect(Self.counts(server) == [10])
    #expect(rig.dropped(.failed) == 10 && rig.dropped(.shutdown) == 10 && rig.waiting == 0)
  }

  @Test func partialSuccessIsCounted() async throws {
    let server = try Self.collector(okResponse("rejected 3"))
    let rig = try TelemetryRig(to: server.url)
    try rig.spans().add(Span.samples(5))
    await rig.exporter.finish(within: 10)
    #expect(rig.exported(.partial) == 1 && rig.dropped(.rejected) == 3)
    #expect(rig.notices.first?.text == "the collector has not taken 3 of them: rejected 3")
  }

  @Test func halfABodyIsAnAnswer() async throws {
    let server = try ScriptedServer(Script(.request, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")))
    let rig = try TelemetryRig(to: server.url)
    try rig.spans().add(Span.samples(5))
    await rig.exporter.finish(within: 10)
    #expect(rig.exported(.success) == 1)
    #expect(Self.counts(server) == [5])
  }

  @Test func aCollectorThatHangsCostsNoMoreThanTheQueue() async throws {
    let server = try ScriptedServer(Script(.request, .awaitClose), .answering { Self.taken })
    let rig = try TelemetryRig(to: server.url) {
      ($0.queue, $0.batch, $0.traces.interval) = (100, 10, 0.02)
      $0.traces.endpoint.timeout = 60
      $0.traces.timeout = 1
    }
    let queue = try rig.spans()
    var made = 10
    queue.add(Span.samples(made))
    try await eventually("the collector has the first message") { server.receivedText().contains("spans=10;") }
    while rig.dropped(.queueFull) < 1000 {
      queue.add(Span.samples(50))
      made += 50
      #expect(rig.waiting <= 100)
    }
    try await eventually("the export is given up") { rig.exported(.failed) == 1 }
    try await eventually("the collector takes spans again") { rig.exported(.success) > 0 }
    await rig.exporter.finish(within: 10)
    let lost = rig.dropped(.queueFull) + rig.dropped(.failed)
    #expect(rig.dropped(.failed) == 10 && rig.waiting == 0)
    #expect(Self.counts(server).dropFirst().reduce(0, +) + lost == made)
    #expect(rig.notices.contains { $0.kind == .dropped && $0.text == "they found no room in the queue" })
  }

  @Test func nobodyListens() async throws {
    let rig = try TelemetryRig(to: "http://127.0.0.1:1") { ($0.batch, $0.traces.timeout) = (10, 0.2) }
    let queue = try rig.spans()
    queue.add(Span.samples(10))
    try await eventually("it has failed") { rig.exported(.failed) == 1 }
    #expect(rig.dropped(.failed) == 10)
    #expect(rig.notices.map(\.kind) == [.trouble])
  }

  @Test func theEndComesInTime() async throws {
    let server = try BlackHole()
    let rig = try TelemetryRig(to: server.url) { $0.batch = 10 }
    try rig.spans().add(Span.samples(25))
    try await eventually("the first message is there") { server.connectionCount == 1 }
    await rig.exporter.finish(within: 0.1)
    #expect(rig.dropped(.shutdown) == 25 && rig.waiting == 0)
    await rig.exporter.finish(within: 0.1)
  }

  @Test func metricsGoAgainAndAgainAndAtTheEnd() async throws {
    let server = try Self.collector("HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n")
    let rig = try TelemetryRig(to: server.url, signal: .metrics) { $0.metrics.interval = 0.02 }
    #expect(rig.exporter.spans == nil)
    try await eventually("some are taken") { rig.exported(.success, .metrics) >= 2 }
    #expect(rig.exported(.refused, .metrics) == 1)
    await rig.exporter.finish(within: 10)
    #expect(server.receivedText().contains("POST /v1/metrics HTTP/1.1\r\n"))
  }

  @Test func anExporterThatIsGoneSendsNothing() async throws {
    let server = try BlackHole()
    var rig: TelemetryRig? = try TelemetryRig(to: server.url) { $0.batch = 10 }
    try rig?.spans().add(Span.samples(10))
    try await eventually("the message is there") { server.connectionCount == 1 }
    rig = nil
    try await eventually("its connection is closed") { server.closedByClientCount == 1 }
  }
}
