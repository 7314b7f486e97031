import CLinux
import Foundation
import Glibc
import Synchronization
import WeirIO
import WeirTestSupport

/// One blocking connection on a thread of its own that moves a large body and counts it.
final class StreamPeer: Sendable {
  let port: Int
  private let count = Atomic(0)
  private let gate: DispatchSemaphore?

  /// Bytes of the body so far.
  var moved: Int { count.load(ordering: .relaxed) }

  private init(port: Int, gate: DispatchSemaphore? = nil) {
    self.port = port
    self.gate = gate
  }

  /// A server that answers one request with so many bytes.
  static func sending(_ size: Int) throws -> StreamPeer {
    try serve { peer, fd in
      readHead(fd)
      write(fd, Array("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n".utf8))
      peer.push(size) { write(fd, $0) }
    }
  }

  /// A server that answers one request with so many bytes that do not compress.
  static func sendingNoise(_ size: Int, _ fields: String) throws -> StreamPeer {
    try serve { peer, fd in
      readHead(fd)
      write(fd, Array("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(size)\r\n\r\n".utf8))
      var random = SeededRandom(seed: 7)
      let chunk = (0..<8192).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
      peer.push(size, chunk) { write(fd, $0) }
    }
  }

  /// A server that takes one request's body of so many bytes, and then answers.
  static func receiving(_ size: Int, startsAtOnce: Bool = true) throws -> StreamPeer {
    try serve(gate: startsAtOnce ? nil : DispatchSemaphore(value: 0)) { peer, fd in
      peer.gate?.wait()
      peer.count.store(readHead(fd), ordering: .relaxed)
      var buffer = [UInt8](repeating: 0, count: 1 << 18)
      while peer.moved < size {
        let count = recv(fd, &buffer, buffer.count, 0)
        guard count > 0 else { return }
        peer.count.wrappingAdd(count, ordering: .relaxed)
      }
      write(fd, Array("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nthanks".utf8))
    }
  }

  /// Sends so many bytes by a client that blocks.
  static func pushing(_ size: Int, into client: RawClient) -> StreamPeer {
    let peer = StreamPeer(port: 0)
    let send = client.sender
    Thread.detachNewThread { peer.push(size, by: send) }
    return peer
  }

  /// Lets a server begin that waits.
  func go() {
    gate?.signal()
  }

  /// Waits until nothing has moved for a while; returns how much had.
  func waitUntilStalled() -> Int {
    var last = -1
    while moved != last || last == 0 {
      last = moved
      letPass(0.2)
    }
    return last
  }

  private func push(
    _ size: Int, _ chunk: [UInt8] = [UInt8](repeating: 0x61, count: 1 << 16), by send: ([UInt8]) -> Bool
  ) {
    while moved < size, send(chunk) { count.wrappingAdd(chunk.count, ordering: .relaxed) }
  }

  private static func serve(
    gate: DispatchSemaphore? = nil, _ body: @escaping @Sendable (StreamPeer, CInt) -> Void
  ) throws -> StreamPeer {
    let listener = try Socket.listening(on: .loopback(port: 0), backlog: 1)
    let peer = StreamPeer(port: Int(try listener.localAddress().port ?? 0), gate: gate)
    // Our own sockets don't block; this one shall.
    _ = fcntl(listener.descriptor, F_SETFL, fcntl(listener.descriptor, F_GETFL, 0) & ~O_NONBLOCK)
    Thread.detachNewThread {
      let fd = accept(listener.descriptor, nil, nil)
      body(peer, fd)
      close(fd)
      listener.close()
    }
    return peer
  }

  /// Reads to the end of a head; returns how many bytes of the body came with it.
  @discardableResult
  private static func readHead(_ fd: CInt) -> Int {
    var seen: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(fd, &buffer, buffer.count, 0)
      guard count > 0 else { return 0 }
      seen += buffer[..<count]
      let mark = Array("\r\n\r\n".utf8)
      if let end = seen.indices.first(where: { seen[$0...].starts(with: mark) }) { return seen.count - end - 4 }
    }
  }

  @discardableResult
  private static func write(_ fd: CInt, _ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        send(fd, $0.baseAddress?.advanced(by: sent), $0.count - sent, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }
}
