import Dispatch
import Synchronization
import WeirIO
import WeirServer

/// A server on a loop of its own.
final class ServerRig: Sendable {
  let server: Server
  let events = Events()
  let tally = ServerTally()
  var port: UInt16 { server.listener.address.port ?? 0 }

  convenience init(
    limits: ServerLimits = ServerLimits(), expectsProxyHeader: (@Sendable (SocketAddress) -> Bool)? = nil,
    secure: (@Sendable () -> (any SecureChannel)?)? = nil, _ handler: @escaping @Sendable (Exchange) -> Void
  ) throws {
    try self.init(
      limits: limits, expectsProxyHeader: expectsProxyHeader, secure: secure, ClosureHandler(body: handler))
  }

  init(
    limits: ServerLimits = ServerLimits(), expectsProxyHeader: (@Sendable (SocketAddress) -> Bool)? = nil,
    secure: (@Sendable () -> (any SecureChannel)?)? = nil, _ handler: any RequestHandler
  ) throws {
    let listener = try Listener(.loopback(port: 0))
    server = Server(
      listener: listener, loop: try EventLoop(name: "test"), limits: limits, handler: handler,
      expectsProxyHeader: expectsProxyHeader, secure: secure, tally: tally,
      onEvent: { [events] in events.append($0) })
    server.start()
  }

  func client(receiveBuffer: CInt? = nil) throws -> RawClient {
    try RawClient(port: port, receiveBuffer: receiveBuffer, of: self)
  }

  func connectionCount() async -> Int {
    await withCheckedContinuation { continuation in server.countConnections { continuation.resume(returning: $0) } }
  }

  /// Calls `body` while the loop does nothing, so that what `body` brings about comes to the server together.
  func whileLoopIsHeld<Result>(_ body: () throws -> Result) rethrows -> Result {
    let (held, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    server.loop.run {
      held.signal()
      gate.wait()
    }
    held.wait()
    defer { gate.signal() }
    return try body()
  }

  /// Waits until `condition` holds for the number of connections; false after five seconds.
  func waitForConnections(_ condition: (Int) -> Bool) async throws -> Bool {
    for _ in 0..<500 {
      if condition(await connectionCount()) { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }
}

struct ClosureHandler: RequestHandler {
  let body: @Sendable (Exchange) -> Void

  func handle(_ exchange: Exchange) { body(exchange) }
}

/// What happened, from any thread.
final class Events: Sendable {
  private let list = Mutex<[String]>([])

  func append(_ event: ServerEvent) { append("\(event)") }
  func append(_ text: String) { list.withLock { $0.append(text) } }
  var all: [String] { list.withLock { $0 } }

  /// False when `text` doesn't come within five seconds.
  func wait(for text: String) async throws -> Bool {
    for _ in 0..<500 {
      if all.contains(where: { $0.contains(text) }) { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }
}

extension ServerLimits {
  static func with(_ change: (inout ServerLimits) -> Void) -> ServerLimits {
    var limits = ServerLimits()
    change(&limits)
    return limits
  }
}
