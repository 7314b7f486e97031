import Foundation
import Glibc
import Synchronization
import WeirIO
import WeirTestSupport

/// A name server on 127.0.0.1 that follows a script, by UDP and TCP on one port.
final class DNSPeer: Sendable {
  /// The messages that answer a question; none for silence. Over TCP each has its length before it.
  typealias Script = @Sendable (DNSQuestion) -> [[UInt8]]

  let port: Int
  /// Its end tells the peer's thread to end.
  private let bell: CInt
  private let received = Mutex<[DNSQuestion]>([])

  init(_ script: @escaping Script) throws {
    port = LoopbackPort.free()
    let datagrams = try Self.open(SOCK_DGRAM, port: port)
    let listener = try Self.open(SOCK_STREAM, port: port)
    _ = try systemCall { listen(listener, 16) }
    var ends: [CInt] = [-1, -1]
    _ = try systemCall { socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) }
    bell = ends[0]
    let end = ends[1]
    let note: @Sendable (DNSQuestion) -> Void = { [weak self] question in
      self?.received.withLock { $0.append(question) }
    }
    Thread.detachNewThread {
      Self.serve(datagrams, listener, until: end) { bytes, isOverTCP in
        guard let question = DNSQuestion(bytes, isOverTCP: isOverTCP) else { return [] }
        note(question)
        return script(question)
      }
      for descriptor in [datagrams, listener, end] { close(descriptor) }
    }
  }

  /// A peer with these records. Other names don't exist.
  convenience init(zone: [String: [DNSReply.Record]]) throws {
    try self.init { question in
      guard let records = zone[question.name] else { return [DNSReply(code: 3).bytes(to: question)] }
      let matching = records.filter { $0.kind == question.kind.rawValue || $0.kind == 5 }
      return [DNSReply(records: matching).bytes(to: question)]
    }
  }

  deinit {
    close(bell)
  }

  /// As it stands in a list of servers.
  var server: String { "127.0.0.1:\(port)" }

  /// The questions so far.
  var questions: [DNSQuestion] { received.withLock { $0 } }
  var names: Set<String> { Set(questions.map(\.name)) }

  private static func open(_ kind: __socket_type, port: Int) throws -> CInt {
    let descriptor = try systemCall { socket(AF_INET, CInt(kind.rawValue | SOCK_CLOEXEC.rawValue), 0) }
    var on: CInt = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    _ = try systemCall {
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    return descriptor
  }

  private static func serve(
    _ datagrams: CInt, _ listener: CInt, until bell: CInt, _ answer: ([UInt8], Bool) -> [[UInt8]]
  ) {
    while true {
      var waits = [datagrams, listener, bell].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&waits, 3, -1) > 0 else { continue }
      if waits[2].revents != 0 { return }
      if waits[0].revents != 0 { serveDatagram(datagrams, answer) }
      if waits[1].revents != 0 { serveConnection(listener, answer) }
    }
  }

  private static func serveDatagram(_ socket: CInt, _ answer: ([UInt8], Bool) -> [[UInt8]]) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    var sender = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &sender) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { sender in
        let count = recvfrom(socket, &buffer, buffer.count, 0, sender, &length)
        guard count > 0 else { return }
        for reply in answer(Array(buffer[..<count]), false) {
          _ = sendto(socket, reply, reply.count, 0, sender, length)
        }
      }
    }
  }

  /// Answers the questions of one connection. It ends when the client's does, or after a second of silence.
  private static func serveConnection(_ listener: CInt, _ answer: ([UInt8], Bool) -> [[UInt8]]) {
    let socket = accept(listener, nil, nil)
    guard socket >= 0 else { return }
    defer { close(socket) }
    var limit = timeval(tv_sec: 1, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    while true {
      var length = [UInt8](repeating: 0, count: 2)
      guard recv(socket, &length, 2, CInt(MSG_WAITALL)) == 2 else { return }
      var question = [UInt8](repeating: 0, count: Int(length[0]) << 8 | Int(length[1]))
      guard recv(socket, &question, question.count, CInt(MSG_WAITALL)) == question.count else { return }
      for reply in answer(question, true) {
        let framed = DNSReply.bytes(UInt16(truncatingIfNeeded: reply.count)) + reply
        guard send(socket, framed, framed.count, CInt(MSG_NOSIGNAL)) == framed.count else { return }
      }
    }
  }
}
