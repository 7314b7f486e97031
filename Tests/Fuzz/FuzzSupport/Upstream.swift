import CLinux
import Glibc
import WeirIO

/// An upstream on loopback, served by the fuzzing thread itself, so that what it sends and when is the input's alone.
///
/// A request for `/own/…` gets its target as the answer's body; any other gets the next part of the input.
package final class Upstream {
  package let port: Int
  package let poll = Poll()
  /// Returns when the side under test has looked for what it was sent.
  package var turn: () -> Void = {}
  /// The bytes that answered each target of the present input.
  package private(set) var sent: [String: [[UInt8]]] = [:]
  private var parts: [[[UInt8]]] = []
  private var closesAtEnd = false
  private var connections: [CInt: [UInt8]] = [:]

  package init() {
    let first = Self.listener(host: 1, port: 0)
    port = first.port
    // Another origin for redirects.
    for listener in [first.fd, Self.listener(host: 2, port: first.port).fd] {
      poll.watch(listener) { [unowned self] in accept(listener) }
    }
  }

  /// On 127.0.0.`host`.
  private static func listener(host: UInt32, port: Int) -> (fd: CInt, port: Int) {
    let fd = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = (0x7F00_0000 | host).bigEndian
    address.sin_port = UInt16(port).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(fd, address, size) | listen(fd, 512) | getsockname(fd, address, &size)
      }
    }
    guard result == 0 else { fatalError("no socket to listen on") }
    return (fd, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// Takes up a new input.
  package func load(_ input: FuzzInput) {
    parts = input.parts.reversed()
    closesAtEnd = input.closesAtEnd
    sent = [:]
  }

  /// Answers requests until something is so. When nothing more comes by itself, all connections are cut off.
  package func serve(until isDone: () -> Bool) {
    let end = MonotonicTime.now.advanced(bySeconds: 8)
    var quietTurns = 0
    while !isDone() {
      if poll.step(milliseconds: 0) {
        quietTurns = 0
      } else if quietTurns < 8 {
        turn()
        quietTurns += 1
      } else {
        for fd in connections.keys { shutdown(fd, CInt(SHUT_RDWR)) }
        _ = poll.step(milliseconds: 100)
        guard MonotonicTime.now < end else { fatalError("a request doesn't end") }
      }
    }
  }

  private func accept(_ listener: CInt) {
    while true {
      let fd = accept4(listener, nil, nil, CInt(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
      guard fd >= 0 else { return }
      var option: CInt = 1
      setsockopt(fd, CInt(IPPROTO_TCP), TCP_NODELAY, &option, socklen_t(MemoryLayout<CInt>.size))
      connections[fd] = []
      poll.watch(fd) { [unowned self] in receive(fd) }
    }
  }

  private func receive(_ fd: CInt) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(fd, &buffer, buffer.count, 0)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0 else { return close(fd) }
    let bytes = connections[fd, default: []] + buffer[..<count]
    guard let request = ReceivedRequest(bytes) else { return connections[fd] = bytes }
    connections[fd] = []
    if !answer(request, fd) { close(fd) }
  }

  private func close(_ fd: CInt) {
    poll.forget(fd)
    connections[fd] = nil
    _ = Glibc.close(fd)
  }

  /// False to close the connection.
  private func answer(_ request: ReceivedRequest, _ fd: CInt) -> Bool {
    let target = request.target
    if target.hasPrefix("/own/") {
      return send(Array("HTTP/1.1 200 OK\r\nContent-Length: \(target.utf8.count)\r\n\r\n\(target)".utf8), fd)
    }
    guard let part = parts.popLast() else { return false }
    sent[target, default: []].append(Array(part.joined()))
    for (index, piece) in part.enumerated() {
      if index > 0 { turn() }
      guard send(piece, fd) else { return false }
    }
    return !(parts.isEmpty && closesAtEnd)
  }

  private func send(_ bytes: [UInt8], _ fd: CInt) -> Bool {
    Glibc.send(fd, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count
  }
}
