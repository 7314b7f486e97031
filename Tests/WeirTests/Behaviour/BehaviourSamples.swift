import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirIO
import WeirTestSupport

/// A response with a status line and fields as given; its body is as long as it says.
func response(_ status: String, _ fields: [String] = [], body: String = "") -> String {
  (["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + fields + ["", body]).joined(separator: "\r\n")
}

/// A server that answers every request on every connection in the same way.
func answering(_ text: String) throws -> ScriptedServer { try ScriptedServer(.answering(text)) }

/// A server that gives its answers one after another, on whatever connection; then it closes.
func answeringInTurn(_ texts: String...) throws -> ScriptedServer {
  let turn = Turn(texts)
  return try ScriptedServer(.answering { turn.next() })
}

/// Values that are given out once each, to whoever comes first.
final class Turn<Value: Sendable>: Sendable {
  private let values: Mutex<ArraySlice<Value>>

  init(_ values: [Value]) {
    self.values = Mutex(values[...])
  }

  func next() -> Value? { values.withLock { $0.popFirst() } }
}

/// Lets callers wait for something that happens once.
final class Latch: Sendable {
  private let journal = Journal<Bool>()

  func open() { journal.append(true) }

  func wait() async {
    await journal.wait { !$0.isEmpty }
  }
}

/// Keeps completions that user code was handed until a test answers them.
final class Held<Answer: Sendable>: Sendable {
  typealias Completion = @Sendable (Answer) -> Void

  private let journal = Journal<Completion>()

  func keep(_ completion: @escaping Completion) { journal.append(completion) }

  var count: Int { journal.entries.count }

  /// Waits for so many completions.
  func wait(for count: Int = 1) async {
    await journal.wait { $0.count >= count }
  }

  func answer(_ answer: Answer) {
    for completion in journal.entries { completion(answer) }
  }
}

extension Session {
  /// The requests whose setup began and that have not finished.
  var activeRequests: Set<Request> {
    get async {
      await withCheckedContinuation { continuation in
        withAllRequests { continuation.resume(returning: $0) }
      }
    }
  }

  /// Returns when the loop has done all that it had been given before.
  func loopTurn() async {
    _ = await activeRequests
  }
}

extension DataRequest {
  /// The plain response, from a handler.
  func plainResponse() async -> WeirDataResponse<Data?> {
    await withCheckedContinuation { continuation in
      response { continuation.resume(returning: $0) }
    }
  }
}

extension Request {
  /// Returns when the request has settled and has told of it; asks again after each turn of the loop.
  func settled() async {
    while outcome == nil {
      await (delegate as? Session)?.loopTurn()
      await Task.yield()
    }
    // The outcome is there before monitors hear of it.
    await (delegate as? Session)?.loopTurn()
  }
}

/// Does something on the loop when the first bytes of a body come in, before any other turn of it.
final class AtFirstData: InlineEventMonitor {
  private let action: Mutex<(@Sendable () -> Void)?>

  init(_ action: @escaping @Sendable () -> Void) {
    self.action = Mutex(action)
  }

  func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {
    let action = action.withLock { action in
      defer { action = nil }
      return action
    }
    action?()
  }
}

/// A request that is made after the monitor that needs it.
final class RequestSlot: Sendable {
  private let slot = Mutex<DataRequest?>(nil)

  var request: DataRequest? {
    get { slot.withLock { $0 } }
    set { slot.withLock { $0 = newValue } }
  }
}

extension WeirError {
  /// The code of a failed transfer.
  var urlErrorCode: URLError.Code? { (underlyingError as? URLError)?.code }
}

/// A server for whatever host, behind a Unix socket: it gives its answers one after another, on one connection or more.
final class Hosts: Sendable {
  let server: ScriptedServer
  private let path: String

  convenience init(_ answers: String...) throws {
    try self.init(answers)
  }

  init(_ answers: [String]) throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).socket").path
    let turn = Turn(answers)
    server = try ScriptedServer(unixSocketPath: path, .answering { turn.next() })
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func session(
    redirectHandler: (any RedirectHandler)? = nil, interceptor: (any RequestInterceptor)? = nil,
    eventMonitors: [any EventMonitor] = [], shared table: DestinationTable = DestinationTable(),
    _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) throws -> Session {
    var configuration = SessionConfiguration.default
    configuration.unixSocketPath = path
    change(&configuration)
    return try Session.sharing(
      table, configuration, interceptor: interceptor, redirectHandler: redirectHandler, eventMonitors: eventMonitors)
  }
}

extension Session {
  /// A session whose destinations a test can look at.
  static func sharing(
    _ table: DestinationTable, _ configuration: SessionConfiguration, interceptor: (any RequestInterceptor)? = nil,
    redirectHandler: (any RedirectHandler)? = nil, eventMonitors: [any EventMonitor] = []
  ) throws -> Session {
    Session(
      loop: try EventLoop(name: "weir.session"), shared: table, configuration: configuration, interceptor: interceptor,
      redirectHandler: redirectHandler, eventMonitors: eventMonitors)
  }
}
