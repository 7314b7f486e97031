import CLinux
import Glibc
import WeirIO

/// A blocking client that sends exact bytes and reads exact responses. Gives up on a silence of ten seconds.
final class RawClient {
  struct Response {
    /// Status line and fields, blank line included.
    var head: String
    var body: [UInt8]
    /// Whether the body came to the end that its framing announced.
    var isComplete: Bool

    var status: Int { Int(head.dropFirst(9).prefix(3)) ?? 0 }
    var text: String { String(decoding: body, as: UTF8.self) }
    var fieldLines: [String] { head.split(separator: "\r\n").dropFirst().map(String.init) }

    /// The values of a field.
    func values(_ name: String) -> [String] {
      fieldLines.filter { $0.lowercased().hasPrefix(name.lowercased() + ":") }
        .map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
    }
  }

  private let descriptor: CInt
  private var pending: [UInt8] = []
  /// Whether the last read ended with a reset.
  private(set) var wasReset = false

  init(port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var time = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw ConnectFailure(error: errno) }
  }

  /// Connects to a Unix socket.
  init(path: String) throws {
    do {
      descriptor = try Socket.connecting(to: .unix(path: path)).descriptor
    } catch {
      throw ConnectFailure(error: error.rawValue)
    }
    _ = fcntl(descriptor, F_SETFL, 0)
    var time = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  struct ConnectFailure: Error {
    let error: CInt
  }

  deinit {
    close(descriptor)
  }

  /// False if the connection is closed or the peer takes no more.
  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool { sender(bytes) }

  /// Sends from any thread.
  var sender: @Sendable ([UInt8]) -> Bool {
    { [descriptor] in Self.send($0, on: descriptor) }
  }

  private static func send(_ bytes: [UInt8], on descriptor: CInt) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Reads one final response; nil if the connection ends before its head does.
  func response(toHead isHead: Bool = false) -> Response? {
    guard let head = take(through: "\r\n\r\n") else { return nil }
    var response = Response(head: String(decoding: head, as: UTF8.self), body: [], isComplete: true)
    if (100..<200).contains(response.status) { return self.response(toHead: isHead) }
    if isHead || response.status == 204 || response.status == 304 { return response }
    if response.values("Transfer-Encoding").contains("chunked") {
      response.isComplete = takeChunks(into: &response.body)
    } else if let length = response.values("Content-Length").first.flatMap({ Int($0) }) {
      while pending.count < length, fill() {}
      response.body = Array(pending.prefix(length))
      pending.removeFirst(response.body.count)
      response.isComplete = response.body.count == length
    } else {
      response.body = rest()
    }
    return response
  }

  /// Waits until something has come that was not taken; false: the connection has ended.
  func awaitBytes() -> Bool { !pending.isEmpty || fill() }

  /// Whether bytes have come that were not taken, or the connection has ended.
  var hasInput: Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return !pending.isEmpty || poll(&request, 1, 0) == 1
  }

  /// Reads to the end of the connection.
  func rest() -> [UInt8] {
    while fill() {}
    defer { pending = [] }
    return pending
  }

  /// Waits, without reading, until the peer has reset the connection.
  func awaitReset() {
    var look = pollfd(fd: descriptor, events: 0, revents: 0)
    _ = poll(&look, 1, 30_000)
  }

  /// Reads and drops bytes until so many have come or the connection ends; returns how many came.
  func discard(_ count: Int) -> Int {
    var taken = 0
    while taken < count {
      if pending.isEmpty, !fill() { break }
      let now = min(pending.count, count - taken)
      pending.removeFirst(now)
      taken += now
    }
    return taken
  }

  /// Adds so many bytes to `bytes`; false if the connection ends before.
  func read(_ count: Int, into bytes: inout [UInt8]) -> Bool {
    while pending.count < count { guard fill() else { return false } }
    bytes += pending.prefix(count)
    pending.removeFirst(count)
    return true
  }

  func halfClose() {
    shutdown(descriptor, CInt(SHUT_WR))
  }

  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    // Only the last close of a descriptor resets; a duplicate of another file takes its place until the end.
    let null = open("/dev/null", O_RDONLY)
    dup2(null, descriptor)
    close(null)
  }

  private func takeChunks(into body: inout [UInt8]) -> Bool {
    while let line = take(through: "\r\n") {
      let digits = line.dropLast(2).prefix { $0 != UInt8(ascii: ";") }
      guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else { return false }
      if size == 0 {
        while let trailer = take(through: "\r\n") { if trailer.count == 2 { return true } }
        return false
      }
      while pending.count < size + 2 { guard fill() else { return false } }
      body += pending.prefix(size)
      pending.removeFirst(size + 2)
    }
    return false
  }

  private func take(through mark: String) -> [UInt8]? {
    let mark = Array(mark.utf8)
    while true {
      if let end = pending.indices.first(where: { pending[$0...].starts(with: mark) }) {
        let taken = Array(pending[..<(end + mark.count)])
        pending.removeFirst(taken.count)
        return taken
      }
      guard fill() else { return nil }
    }
  }

  private func fill() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count < 0 { wasReset = errno == ECONNRESET }
    guard count > 0 else { return false }
    pending += buffer[..<count]
    return true
  }
}
