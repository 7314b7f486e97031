import CLinux
import Dispatch
import Foundation
import Synchronization
import WeirIO

/// A server on 127.0.0.1, or a Unix socket, that sends exactly the bytes that its scripts say.
///
/// The first connection runs the first script, the second the second, and so on; the last one serves all further
/// connections. Each connection has a thread of its own that blocks.
package final class ScriptedServer: Sendable {
  /// The port on 127.0.0.1, or on the address given; 0 on a Unix socket.
  package let port: Int
  private let core: ScriptedServerCore

  package init(_ scripts: Script...) throws {
    let (listener, port) = try ServerSocket.listenOnLoopback()
    self.port = port
    core = ScriptedServerCore(listener, scripts)
    core.start()
  }

  /// - Parameters:
  ///   - host: The last number of another address of 127.0.0.0/8.
  ///   - port: 0 for a free one.
  package init(host: UInt8, port: Int = 0, _ scripts: Script...) throws {
    let (listener, port) = try ServerSocket.listenOnLoopback(host: host, port: port)
    self.port = port
    core = ScriptedServerCore(listener, scripts)
    core.start()
  }

  package init(unixSocketPath: String, _ scripts: Script...) throws {
    port = 0
    core = ScriptedServerCore(try ServerSocket.listen(unixSocketPath: unixSocketPath), scripts)
    core.start()
  }

  /// The socket on which a server listens.
  package enum Place: Sendable {
    case loopback, ipv6Loopback
    case unixSocket(path: String)
  }

  package init(at place: Place, _ scripts: [Script]) throws {
    let listener: CInt
    switch place {
    case .loopback: (listener, port) = try ServerSocket.listenOnLoopback()
    case .ipv6Loopback:
      listener = try ServerSocket.listenOnIPv6Loopback(queue: 512, port: 0)
      port = Int(SocketAddress(localOf: listener)?.port ?? 0)
    case .unixSocket(let path): (listener, port) = (try ServerSocket.listen(unixSocketPath: path), 0)
    }
    core = ScriptedServerCore(listener, scripts)
    core.start()
  }

  deinit {
    core.stop()
  }

  package var url: String { "http://127.0.0.1:\(port)/" }

  /// Connections accepted so far.
  package var connectionCount: Int { core.state.withLock { $0.connections.count } }

  /// Connections whose script has come to its end.
  package var finishedCount: Int { core.state.withLock { $0.connections.count { $0.isOver } } }

  /// Connections that the client has closed or reset, as far as the scripts were reading.
  package var closedByClientCount: Int { core.state.withLock { $0.connections.count { $0.wasClosedByClient } } }

  /// All bytes received on the connection of that number, from 0.
  package func received(on index: Int = 0) -> [UInt8] {
    core.state.withLock { index < $0.connections.count ? $0.connections[index].received : [] }
  }

  package func receivedText(on index: Int = 0) -> String {
    String(decoding: received(on: index), as: UTF8.self)
  }

  /// Ends all connections and waits for their threads.
  package func stop() {
    core.stop()
  }
}

/// What a scripted server's threads hold on to; the server itself they must not, as its end is what stops them.
private final class ScriptedServerCore: Sendable {
  struct State {
    var isStopped = false
    var connections: [Connection] = []
  }

  struct Connection {
    let descriptor: CInt
    var received: [UInt8] = []
    var wasClosedByClient = false
    var isOver = false
  }

  let state = Mutex(State())
  private let listener: CInt
  private let scripts: [Script]
  private let threads = DispatchGroup()

  init(_ listener: CInt, _ scripts: [Script]) {
    self.listener = listener
    self.scripts = scripts
  }

  deinit {
    close(listener)
  }

  func start() {
    run { self.acceptAll() }
  }

  func stop() {
    // Under the lock, as is their closing: a number that is free again may be somebody else's connection.
    state.withLock { state in
      state.isStopped = true
      for connection in state.connections where !connection.isOver { shutdown(connection.descriptor, CInt(SHUT_RDWR)) }
    }
    shutdown(listener, CInt(SHUT_RDWR))
    threads.wait()
  }

  private func run(_ body: @escaping @Sendable () -> Void) {
    threads.enter()
    Thread.detachNewThread { [threads] in
      body()
      threads.leave()
    }
  }

  private func acceptAll() {
    while let descriptor = ServerSocket.accept(listener) {
      let index: Int? = state.withLock { state in
        guard !state.isStopped else { return nil }
        state.connections.append(Connection(descriptor: descriptor))
        return state.connections.count - 1
      }
      guard let index else {
        close(descriptor)
        return
      }
      run { self.serve(descriptor, index) }
    }
  }

  private func serve(_ descriptor: CInt, _ index: Int) {
    var peer = ScriptedPeer(descriptor: descriptor) { bytes in
      self.state.withLock { $0.connections[index].received += bytes }
    }
    if let script = index < scripts.count ? scripts[index] : scripts.last { _ = peer.run(script.steps) }
    state.withLock { state in
      state.connections[index].isOver = true
      state.connections[index].wasClosedByClient = peer.sawEnd
      close(descriptor)
    }
  }
}

/// A server that accepts connections, reads and never answers.
package final class BlackHole: Sendable {
  private let server: ScriptedServer

  package init() throws {
    server = try ScriptedServer(Script(.awaitClose))
  }

  package var port: Int { server.port }
  package var url: String { server.url }
  package var connectionCount: Int { server.connectionCount }
  package var closedByClientCount: Int { server.closedByClientCount }
  package func received(on index: Int = 0) -> [UInt8] { server.received(on: index) }
  package func stop() { server.stop() }
}
