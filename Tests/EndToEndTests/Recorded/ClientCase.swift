import Foundation
import Synchronization
import Weir
import WeirCurl
import WeirExporter
import WeirTestSupport

/// Requests of one embedded session, and the scripts of the server that it asks.
struct ClientCase: Sendable {
  let name: String
  /// The first script is the first connection's, and so on; the last one serves all further connections. Without any
  /// script nothing listens.
  let scripts: [Script]
  let run: @Sendable (ClientStage) async throws -> Void

  init(_ name: String, _ scripts: Script..., run: @escaping @Sendable (ClientStage) async throws -> Void) {
    self.init(name, scripts, run: run)
  }

  init(_ name: String, _ scripts: [Script], run: @escaping @Sendable (ClientStage) async throws -> Void) {
    self.name = name
    self.scripts = scripts
    self.run = run
  }

  func startServer() throws -> ScriptedServer? {
    switch scripts.count {
    case 0: nil
    case 1: try ScriptedServer(scripts[0])
    case 2: try ScriptedServer(scripts[0], scripts[1])
    default: try ScriptedServer(scripts[0], scripts[1], scripts[2])
    }
  }

  /// The name as the page of metrics shows it.
  var slug: String { name.replacing(" ", with: "-") }
}

/// Everything that a case works with: its server, its log, and the sessions that it makes.
final class ClientStage: Sendable {
  let url: String
  let events: EventLog
  let directory: TemporaryDirectory
  private let monitor: MetricsMonitor
  private let engine: HTTP1EngineChoice
  private let made = Mutex<[Session]>([])
  private let results = Mutex<[String]>([])

  init(url: String, events: EventLog, monitor: MetricsMonitor, engine: HTTP1EngineChoice = .standard) throws {
    self.url = url
    self.events = events
    self.monitor = monitor
    self.engine = engine
    directory = try TemporaryDirectory()
  }

  func session(
    _ interceptor: (any RequestInterceptor)? = nil, startsImmediately: Bool = true,
    serializationQueue: DispatchQueue? = nil, _ configure: (inout SessionConfiguration) -> Void = { _ in }
  ) -> Session {
    var configuration = SessionConfiguration()
    configuration.timeoutIntervalForResource = 20
    configuration.http1Engine = engine
    configure(&configuration)
    let session = Session(
      configuration: configuration, startRequestsImmediately: startsImmediately,
      serializationQueue: serializationQueue, interceptor: interceptor, eventMonitors: [monitor, events])
    made.withLock { $0.append(session) }
    return session
  }

  /// Notes a handler's result. Results stand behind all events, because handlers run on another thread.
  func note<Value, Failure: Error>(_ result: Result<Value, Failure>) {
    results.withLock { $0.append("→ " + events.facts(result)) }
  }

  func note(_ text: String) {
    results.withLock { $0.append("→ " + text) }
  }

  /// Ends the sessions, waits for their last events, and returns all events and results.
  func finish() async throws -> String {
    for session in made.withLock({ $0 }) { session.invalidateAndCancel() }
    let count = made.withLock { $0.count }
    try await events.wait(for: "session.invalid", count: count)
    try await eventually("all connections are closed") {
      events.count("session.connection opened") == events.count("session.connection closed")
    }
    return (events.lines + results.withLock { $0 }).map { $0 + "\n" }.joined()
  }
}

/// A completion that a test calls when it wants to.
final class HeldAnswer<Answer>: Sendable {
  private let completion = Mutex<(@Sendable (Answer) -> Void)?>(nil)

  func keep(_ completion: @escaping @Sendable (Answer) -> Void) {
    self.completion.withLock { $0 = completion }
  }

  func wait() async throws {
    try await eventually("an answer is asked for") { completion.withLock { $0 != nil } }
  }

  func answer(_ answer: Answer) {
    completion.withLock { $0 }?(answer)
  }
}
