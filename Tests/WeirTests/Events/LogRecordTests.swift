import Foundation
import Testing
import WeirTestSupport

@testable import Weir

@Suite(.timeLimit(.minutes(5))) struct LogRecordTests {
  private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let spanID = "00f067aa0ba902b7"

  private static func text(_ record: LogRecord) -> String {
    record.metadata.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
  }

  @Test func aRecordHasItsFactsInOrder() throws {
    let destination = Destination(scheme: "http", host: "example.com", port: 80)
    let error = URLError(.timedOut)
    let record = LogRecord(.warning, "event", nil, ["one", "", .destination(destination), .error(error as any Error)])
    #expect(record.level == .warning)
    #expect(record.message == "event")
    #expect(record.metadata.map(\.name) == ["destination", "details"])
    #expect(record.description == "event one \(destination) error: \(error.localizedDescription)")
    #expect(LogRecord(.trace, "event", nil, []).metadata.isEmpty)
    #expect(LogRecord(.trace, "event", nil, []).description == "event")
  }

  @Test func linesOfATextAreJoined() {
    let record = LogRecord(.trace, "event", nil, ["one\ntwo\r\n", "three"])
    #expect(record.description == "event one two  three")
    #expect(Self.text(record) == "details=one two  three")
  }

  @Test func levelsHaveAnOrder() {
    #expect(LogRecord.Level.allCases == LogRecord.Level.allCases.sorted())
    #expect(LogRecord.Level.allCases.map(\.rawValue) == ["trace", "debug", "info", "warning"])
  }

  /// Above `trace`, the groups of events with lighter ones alone are not asked for.
  @Test(arguments: LogRecord.Level.allCases)
  func lighterEventsMakeNoRecords(level: LogRecord.Level) async throws {
    let records = Journal<LogRecord>()
    let server = try ScriptedServer(.answering(response("503 Busy")))
    let monitor = LoggingEventMonitor(level: level, record: { records.append($0) })
    #expect(monitor.interests.contains(.data) == (level == .trace))
    let session = Session(eventMonitors: [monitor])
    _ = await session.request(server.url).serializingData().response
    await records.wait { $0.contains { $0.message == "request.didSettle" } }
    #expect(records.entries.map(\.level).min() == level || level == .info)
    #expect(records.entries.allSatisfy { $0.level >= level })
  }

  @Test func aRequestsRecordsSayWhatIsKnownOfIt() async throws {
    let records = Journal<LogRecord>()
    let server = try answeringInTurn(response("503 Busy", body: "busy"), okResponse("fine"), response("404 Gone"))
    var configuration = SessionConfiguration()
    let context = try #require(
      TraceContext(traceparent: "00-\(Self.traceID)-\(Self.spanID)-01", tracestate: nil))
    configuration.traceContext = { context }
    let session = Session(
      configuration: configuration, interceptor: RetryPolicy(exponentialBackoffScale: 0.001),
      eventMonitors: [LoggingEventMonitor(record: { records.append($0) })])
    let request = session.request(server.url).validate()
    #expect(await request.serializingString().response.value == "fine")
    await records.wait { $0.contains { $0.message == "request.didSettle" } }
    let place = "destination=http://127.0.0.1:\(server.port) method=GET"
    let own = records.entries.filter { record in
      record.metadata.contains { $0.name == "request_id" && $0.value == "\(request.id)" }
    }
    let attempts = own.filter { $0.message == "request.didRecordAttempt" }
    #expect(attempts.map(\.level) == [.debug, .debug])
    // The number of attempts is that of the moment in which the record is made, on the monitor's queue.
    let first = try #require(attempts.first.map(Self.text))
    #expect(first.hasPrefix("\(place) status=503 attempts="))
    #expect(
      first.contains(" error=unacceptable_status_code trace_id=\(Self.traceID) span_id=\(Self.spanID) request_id="))
    let settled = try #require(own.last { $0.message == "request.didSettle" })
    #expect(settled.level == .debug)
    #expect(Self.text(settled) == "\(place) status=200 attempts=2 request_id=\(request.id) details=success")
    #expect(settled.description == "request.didSettle \(request.id.uuidString.prefix(8)) success")

    let missing = session.request(server.url).validate()
    #expect(await missing.serializingString().response.error?.responseCode == 404)
    await records.wait { $0.count { $0.message == "request.didSettle" } == 2 }
    let failed = try #require(records.entries.last { $0.message == "request.didSettle" })
    #expect(failed.level == .info)
    #expect(
      Self.text(failed)
        == "\(place) status=404 attempts=1 error=unacceptable_status_code request_id=\(missing.id) details=http_error")
  }

  @Test func aFailureIsAWarning() async throws {
    let records = Journal<LogRecord>()
    let hole = try BlackHole()
    hole.stop()
    let session = Session()
    let request = session.request(hole.url).eventMonitor(LoggingEventMonitor(record: { records.append($0) }))
    let error = try #require(await request.serializingData().response.error)
    await records.wait { $0.contains { $0.message == "request.didSettle" } }
    let failed = try #require(records.entries.last { $0.message == "request.didSettle" })
    #expect(failed.level == .warning)
    #expect(failed.metadata.contains { $0.name == "error" && $0.value == error.label })
  }

  @Test func aCallersLogHearsOfItsOwnRequestAlone() async throws {
    let server = try answering(okResponse("fine"))
    let session = Session()
    let logs = [Journal<LogRecord>(), Journal<LogRecord>()]
    let requests = logs.map { log in
      session.request(server.url).eventMonitor(LoggingEventMonitor(record: { log.append($0) }))
    }
    for (request, log) in zip(requests, logs) {
      #expect(await request.serializingString().response.value == "fine")
      await log.wait { $0.contains { $0.message == "request.didSettle" } }
      let identifiers = log.entries.flatMap(\.metadata).filter { $0.name == "request_id" }.map(\.value)
      #expect(Set(identifiers) == [request.id.uuidString])
    }
  }
}
