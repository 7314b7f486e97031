import Logging
import Testing
import Weir
import WeirSwiftLog

/// Keeps what a logger writes.
final class KeptLines: Sendable {
  struct Line: Sendable {
    let level: Logger.Level
    let message: String
    let metadata: Logger.Metadata
  }

  private let kept = AsyncStream<Line>.makeStream()

  /// The lines up to that of a request's end, which is its last.
  func untilSettled() async -> [Line] {
    var lines: [Line] = []
    for await line in kept.stream {
      lines.append(line)
      if line.message == "request.didSettle" { break }
    }
    return lines
  }

  private func keep(_ line: Line) { kept.continuation.yield(line) }

  func logger(_ level: Logger.Level = .trace) -> Logger {
    var logger = Logger(label: "test", factory: { _ in Handler(kept: self) })
    logger.logLevel = level
    return logger
  }

  private struct Handler: LogHandler {
    let kept: KeptLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    var metadataProvider: Logger.MetadataProvider? = Logger.MetadataProvider { ["place": "\(Place.name)"] }

    func log(event: LogEvent) {
      kept.keep(
        Line(
          level: event.level, message: event.message.description,
          metadata: metadata.merging(event.metadata ?? [:]) { $1 }))
    }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
  }
}

enum Place { @TaskLocal static var name = "nowhere" }

@Suite("swift-log") struct SwiftLogTests {
  @Test("A session's events have a name as the message, and facts as metadata")
  func session() async throws {
    let server = try AnsweringServer(answer("503 Service Unavailable"))
    let kept = KeptLines()
    let session = Session(eventMonitors: [LoggingEventMonitor(logger: kept.logger())])
    _ = await session.request("\(server.url)/a?token=secret").validate().serializingData().response
    let lines = await kept.untilSettled()
    let line = try #require(lines.last)
    #expect(line.level == .warning)
    #expect(line.metadata["status"] == "503" && line.metadata["method"] == "GET")
    #expect(line.metadata["destination"] == .string(server.url))
    #expect(lines.allSatisfy { !$0.message.contains(" ") && !"\($0)".contains("secret") })
  }

  @Test("A request writes to the logger of its task, with its metadata")
  func task() async throws {
    let server = try AnsweringServer(answer())
    let kept = KeptLines()
    var logger = kept.logger(.debug)
    logger[metadataKey: "user"] = "7"
    let session = Session()
    _ = try await Place.$name.withValue("here") {
      try await withLogger(logger) { _ in
        try await session.request(server.url).log().serializingData(emptyResponseCodes: [200]).value
      }
    }
    let lines = await kept.untilSettled()
    let line = try #require(lines.last)
    #expect(line.metadata["place"] == "here", "what the provider knows is the caller's")
    #expect(line.level == .debug && line.metadata["user"] == "7" && line.metadata["request_id"] != nil)
    #expect(lines.allSatisfy { $0.level >= .debug })
  }

  @Test("All levels have a counterpart", arguments: LogRecord.Level.allCases)
  func levels(_ level: LogRecord.Level) {
    #expect(Logger.Level(rawValue: level.rawValue) != nil)
  }
}
