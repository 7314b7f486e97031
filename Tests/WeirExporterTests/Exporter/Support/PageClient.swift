import CLinux
import Glibc
import WeirIO

/// A blocking client of the exporter on loopback. It gives up after ten seconds without an answer.
final class PageClient {
  struct Response: Equatable {
    var status: Int
    /// By name in lower case.
    var fields: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
  }

  private let descriptor: CInt
  private var isOpen = true
  private var received: [UInt8] = []

  /// - Parameters:
  ///   - address: the exporter's: `127.0.0.1:port` or `unix:path`.
  ///   - receiveBuffer: a small one makes the server notice soon that nobody reads.
  init(_ address: String?, receiveBuffer: CInt? = nil) throws {
    let address = try SocketAddress(parsing: address ?? "")
    let family = address.port == nil ? AF_UNIX : AF_INET
    descriptor = try systemCall { socket(family, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) }
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
    }
    switch address {
    case .unix(let path):
      var system = sockaddr_un()
      system.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &system.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
      try Self.connect(descriptor, &system)
    default:
      var system = sockaddr_in()
      system.sin_family = sa_family_t(AF_INET)
      system.sin_port = (address.port ?? 0).bigEndian
      system.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      try Self.connect(descriptor, &system)
    }
  }

  private static func connect<System>(_ descriptor: CInt, _ system: inout System) throws(Errno) {
    _ = try systemCall {
      withUnsafePointer(to: &system) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<System>.size))
        }
      }
    }
  }

  deinit {
    if isOpen { close(descriptor) }
  }

  func send(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  func request(_ method: String = "GET", _ target: String, _ fields: [(String, String)] = []) {
    let lines = fields.map { "\($0): \($1)\r\n" }.joined()
    send("\(method) \(target) HTTP/1.1\r\nHost: test\r\n\(lines)\r\n")
  }

  func endSending() { shutdown(descriptor, CInt(SHUT_WR)) }

  /// Leaves without a word.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close(descriptor)
    isOpen = false
  }

  /// The next response; nil when the connection ends or falls silent before it is whole.
  func response(toHead: Bool = false) -> Response? {
    while true {
      if let response = takeResponse(toHead: toHead) { return response }
      var buffer = [UInt8](repeating: 0, count: 262_144)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      received.append(contentsOf: buffer[..<count])
    }
  }

  private func takeResponse(toHead: Bool) -> Response? {
    let mark = Array("\r\n\r\n".utf8)
    guard
      let end = received.indices.dropLast(3).prefix(8192).first(where: { received[$0...].starts(with: mark) })
    else { return nil }
    let lines = String(decoding: received[..<end], as: UTF8.self).split(separator: "\r\n")
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
    }
    let length = toHead ? 0 : Int(fields["content-length"] ?? "") ?? 0
    guard received.count >= end + 4 + length else { return nil }
    let body = Array(received[(end + 4)...].prefix(length))
    received.removeFirst(end + 4 + length)
    return Response(status: Int(lines[0].split(separator: " ")[1]) ?? 0, fields: fields, body: body)
  }
}

extension PageClient {
  /// One request over a connection of its own.
  static func get(
    _ address: String?, _ target: String = "/metrics", _ fields: [(String, String)] = []
  ) throws -> Response? {
    let client = try PageClient(address)
    client.request("GET", target, fields)
    return client.response()
  }
}
