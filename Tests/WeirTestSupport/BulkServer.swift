import Glibc
import WeirIO

/// A server for bodies of any size: it keeps nothing of uploads, and sends to GET a body that it never has as a whole.
/// Each connection has one buffer.
package final class BulkServer: Sendable {
  private let server: ScriptedServer

  /// - Parameters:
  ///   - size: The length of the bodies that it sends.
  ///   - pause: Seconds that pass before each read of a body.
  package init(size: Int, pause: Double = 0) throws {
    server = try ScriptedServer(
      Script(
        .handOver { descriptor in
          let peer = BulkPeer(descriptor: descriptor, size: size, pause: pause)
          while peer.serve() {}
          peer.buffer.deallocate()
        }))
  }

  package var url: String { server.url }
}

private struct BulkPeer {
  let descriptor: CInt
  let size: Int
  let pause: Double
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  /// Serves one request; false when the connection is over.
  func serve() -> Bool {
    guard let (head, rest) = readHead() else { return false }
    if head.hasPrefix("GET ") { return send() }
    let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
      .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) }
    guard length.map({ skip($0 - rest) }) ?? skipChunks(Array(buffer[..<rest])) else { return false }
    return ServerSocket.send(descriptor, Array(okResponse("taken").utf8))
  }

  /// A head, and how many bytes of the body have come with it; those are moved to the begin of the buffer.
  private func readHead() -> (String, rest: Int)? {
    var count = 0
    while count < buffer.count, let more = receive(from: count) {
      count += more
      let text = buffer[..<min(count, 4 << 10)]
      guard let end = text.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { continue }
      let head = String(decoding: buffer[..<end], as: UTF8.self)
      let rest = UnsafeRawBufferPointer(rebasing: buffer[end..<count])
      buffer.copyMemory(from: rest)
      return (head, rest.count)
    }
    return nil
  }

  private func skip(_ count: Int) -> Bool {
    var left = count
    while left > 0 {
      if pause > 0 { letPass(pause) }
      guard let count = receive(atMost: left) else { return false }
      left -= count
    }
    return true
  }

  /// Reads to the mark of the last chunk, which must not be among the bytes of the body.
  private func skipChunks(_ begin: [UInt8]) -> Bool {
    let mark = Array("0\r\n\r\n".utf8)
    var tail = begin.suffix(mark.count)
    while !tail.elementsEqual(mark) {
      if pause > 0 { letPass(pause) }
      guard let count = receive() else { return false }
      tail = (tail + buffer[max(0, count - mark.count)..<count]).suffix(mark.count)
    }
    return true
  }

  private func send() -> Bool {
    guard ServerSocket.send(descriptor, Array("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n".utf8)) else {
      return false
    }
    buffer.initializeMemory(as: UInt8.self, repeating: 65)
    var left = size
    while left > 0 {
      let count = Glibc.send(descriptor, buffer.baseAddress, min(left, buffer.count), CInt(MSG_NOSIGNAL))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      left -= count
    }
    return true
  }

  /// nil at the end of the connection.
  private func receive(from offset: Int = 0, atMost limit: Int = .max) -> Int? {
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
    let count = try? systemCall { recv(descriptor, room.baseAddress, min(limit, room.count), 0) }
    return count.flatMap { $0 > 0 ? $0 : nil }
  }
}
