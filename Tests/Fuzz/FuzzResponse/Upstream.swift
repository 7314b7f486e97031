import CLinux
import Dispatch
import Foundation
import Glibc
import Synchronization

/// An upstream on loopback. A request for `/own/N` gets that as its answer; any other gets the next part of the input.
final class Upstream: Sendable {
  private struct State {
    var parts: [[[UInt8]]] = []
    var closesAtEnd = false
    var connections: Set<CInt> = []
  }

  let port: Int
  private let listener: CInt
  private let state = Mutex(State())
  /// Held from the end of a request's head until the answer is sent, so that who takes it finds all bytes delivered.
  private let turn = Mutex(())
  private let answered = DispatchSemaphore(value: 0)

  init() {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let fd = listener
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(fd, address, size) | listen(fd, 512) | getsockname(fd, address, &size)
      }
    }
    guard result == 0 else { fatalError("no socket to listen on") }
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept4(listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
        guard connection >= 0 else { continue }
        state.withLock { _ = $0.connections.insert(connection) }
        Thread.detachNewThread { [self] in serve(connection) }
      }
    }
  }

  /// Takes up a new input: what is sent for one request after another, each in pieces.
  func load(_ parts: [[[UInt8]]], closesAtEnd: Bool) {
    state.withLock { state in
      state.parts = parts.reversed()
      state.closesAtEnd = closesAtEnd
    }
  }

  /// Whether a part of the input was sent since this was last true.
  func hasAnswered(within seconds: Double) -> Bool { answered.wait(timeout: .now() + seconds) == .success }

  /// Returns when nothing is being sent.
  func awaitQuiet() { turn.withLock { _ in } }

  /// Ends all connections in both directions.
  func cutAll() {
    state.withLock { state in
      for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
    }
  }

  private func serve(_ connection: CInt) {
    var option: CInt = 1
    setsockopt(connection, CInt(IPPROTO_TCP), TCP_NODELAY, &option, socklen_t(MemoryLayout<CInt>.size))
    var buffer = [UInt8](repeating: 0, count: 4096)
    var received: [UInt8] = []
    while true {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      received += buffer[..<count]
      // Bodies are single bytes that follow their head at once.
      guard let end = received.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { continue }
      let line = String(decoding: received.prefix { $0 != 13 }, as: UTF8.self)
      if line.hasPrefix("POST"), received.count == end { continue }
      received = []
      guard turn.withLock({ _ in answer(line, connection) }) else { break }
    }
    state.withLock { state in
      state.connections.remove(connection)
      close(connection)
    }
  }

  /// False to close the connection.
  private func answer(_ line: String, _ connection: CInt) -> Bool {
    let path = line.split(separator: " ").dropFirst().first ?? ""
    if path.hasPrefix("/own/") {
      send(Array("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)".utf8), connection)
      return true
    }
    let (part, goesOn) = state.withLock { state in
      let part = state.parts.popLast()
      return (part ?? [], part != nil && !(state.parts.isEmpty && state.closesAtEnd))
    }
    for piece in part { send(piece, connection) }
    answered.signal()
    return goesOn
  }

  private func send(_ bytes: [UInt8], _ connection: CInt) {
    _ = Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }
}
