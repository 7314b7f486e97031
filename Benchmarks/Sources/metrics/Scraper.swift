import Foundation

/// A blocking client that requests a page in gzip and discards it, with as little work as possible.
final class Scraper {
  struct Failure: Error {
    let what: String
  }

  private let descriptor: CInt
  private var buffer = [UInt8](repeating: 0, count: 1 << 20)

  /// - Parameter address: `127.0.0.1:port`.
  init(address: String) throws {
    guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else { throw Failure(what: address) }
    descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    var system = sockaddr_in()
    system.sin_family = sa_family_t(AF_INET)
    system.sin_port = port.bigEndian
    system.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &system) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure(what: "connect") }
  }

  deinit {
    close(descriptor)
  }

  func scrape() throws {
    let request = Array("GET /metrics HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, 0) == request.count else { throw Failure(what: "send") }
    var count = 0
    var whole = Int.max
    while count < whole {
      let room = buffer.count - count
      let received = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress?.advanced(by: count), room, 0) }
      guard received > 0 else { throw Failure(what: "receive") }
      count += received
      if whole == .max { whole = try length(count) }
    }
  }

  /// The bytes of head and body; unknown until the head is there.
  private func length(_ count: Int) throws -> Int {
    let head = String(decoding: buffer[..<min(count, 1024)], as: UTF8.self)
    guard let end = head.range(of: "\r\n\r\n") else { return .max }
    let lines = head[..<end.lowerBound].lowercased().split(separator: "\r\n")
    guard lines.first?.contains(" 200 ") == true, lines.contains("content-encoding: gzip"),
      let field = lines.first(where: { $0.hasPrefix("content-length: ") }),
      let length = Int(field.dropFirst("content-length: ".count))
    else { throw Failure(what: head) }
    return head[..<end.upperBound].utf8.count + length
  }
}
