import Dispatch
import Synchronization
import WeirIO
import WeirTestSupport

@testable import WeirServer

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
    await server.connectionCount()
  }

  /// Returns once the server has read what its connections had received: after a whole turn of its loop.
  func readsOn() async { for _ in 0..<2 { _ = await connectionCount() } }

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

  /// Waits until `condition` holds for the number of connections.
  func waitForConnections(_ condition: (Int) -> Bool) async throws -> Bool {
    await soon { condition(await connectionCount()) }
  }
}

extension Server {
  func connectionCount() async -> Int {
    await withCheckedContinuation { continuation in
      loop.run { [core] in continuation.resume(returning: core.value.connectionCount) }
    }
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

  /// False when `text` doesn't come.
  func wait(for text: String) async throws -> Bool {
    await soon { all.contains { $0.contains(text) } }
  }
}

extension ServerLimits {
  static func with(_ change: (inout ServerLimits) -> Void) -> ServerLimits {
    var limits = ServerLimits()
    change(&limits)
    return limits
  }
}
