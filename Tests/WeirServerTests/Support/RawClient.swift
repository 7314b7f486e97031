import CLinux
import Glibc
import WeirIO

/// A blocking client that sends exact bytes and gives up after half a minute without an answer.
final class RawClient {
  private let descriptor: CInt
  private var received: [UInt8] = []
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  /// Kept as long as this client.
  private let server: AnyObject?

  /// - Parameter receiveBuffer: a small one makes a server notice soon that nobody reads.
  init(port: UInt16, receiveBuffer: CInt? = nil, of server: AnyObject? = nil) throws(Errno) {
    self.server = server
    descriptor = try systemCall { socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) }
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    _ = try systemCall {
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
  }

  deinit {
    close(descriptor)
  }

  /// False when the server has closed the connection.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  func endSending() { shutdown(descriptor, CInt(SHUT_WR)) }

  /// Closes with a reset.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    shutdown(descriptor, CInt(SHUT_RDWR))
  }

  enum Ending: Equatable {
    case end
    case reset
    case silence
  }

  /// All that comes until the server ends or resets the connection, or falls silent.
  func readToEnd() -> (text: String, ending: Ending) {
    while true {
      switch receive() {
      case nil: continue
      case .some(let ending):
        defer { received = [] }
        return (String(decoding: received, as: UTF8.self), ending)
      }
    }
  }

  /// What comes up to the end `mark`, or to the end.
  func read(until mark: String) -> String {
    while !received[...].hasSuffix(mark), receive() == nil {}
    defer { received = [] }
    return String(decoding: received, as: UTF8.self)
  }

  /// The next response, framed by Content-Length, chunks or the end of the connection; nil when none comes.
  func response(toHead: Bool = false) -> RawResponse? {
    while true {
      if let (response, length) = RawResponse.parse(received, toHead: toHead, isOver: false) {
        received.removeFirst(length)
        return response
      }
      guard receive() != nil else { continue }
      return RawResponse.parse(received, toHead: toHead, isOver: true)?.response
    }
  }

  /// Sends the request and returns the status, the shortest form of a test.
  func status(of request: String) -> Int? {
    send(request)
    return response()?.status
  }

  private func receive() -> Ending? {
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count > 0 {
      received.append(contentsOf: buffer[..<count])
      return nil
    }
    if count == 0 { return .end }
    return errno == EAGAIN ? .silence : .reset
  }
}

struct RawResponse: Equatable {
  var status: Int
  var fields: [String: String]
  var body: String

  /// The first response in `bytes` and how many of them it takes.
  static func parse(_ bytes: [UInt8], toHead: Bool, isOver: Bool) -> (response: RawResponse, length: Int)? {
    guard let head = (4...max(4, bytes.count)).first(where: { bytes[..<min($0, bytes.count)].hasSuffix("\r\n\r\n") })
    else { return nil }
    let lines = String(decoding: bytes[..<(head - 4)], as: UTF8.self).split(separator: "\r\n")
    var response = RawResponse(status: Int(lines[0].split(separator: " ")[1]) ?? 0, fields: [:], body: "")
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      response.fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
    }
    if toHead || response.status < 200 || [204, 304].contains(response.status) { return (response, head) }
    return response.readBody(of: bytes[head...], isOver: isOver).map { ($0.0, head + $0.1) }
  }

  private func readBody(of bytes: ArraySlice<UInt8>, isOver: Bool) -> (RawResponse, Int)? {
    var result = self
    if let length = fields["content-length"].flatMap({ Int($0) }) {
      guard bytes.count >= length else { return nil }
      result.body = String(decoding: bytes.prefix(length), as: UTF8.self)
      return (result, length)
    }
    if fields["transfer-encoding"] == "chunked" { return result.readChunks(of: bytes) }
    guard isOver else { return nil }
    result.body = String(decoding: bytes, as: UTF8.self)
    return (result, bytes.count)
  }

  private func readChunks(of bytes: ArraySlice<UInt8>) -> (RawResponse, Int)? {
    var (result, rest) = (self, bytes)
    while let line = rest.firstIndex(of: 0x0a) {
      guard let size = Int(String(decoding: rest[..<line].dropLast(), as: UTF8.self), radix: 16) else { return nil }
      rest = rest[(line + 1)...]
      guard rest.count >= size + 2 else { return nil }
      result.body += String(decoding: rest.prefix(size), as: UTF8.self)
      rest = rest.dropFirst(size + 2)
      if size == 0 { return (result, bytes.count - rest.count) }
    }
    return nil
  }
}

extension ArraySlice<UInt8> {
  fileprivate func hasSuffix(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
