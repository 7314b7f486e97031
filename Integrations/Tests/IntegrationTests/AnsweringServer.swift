import Foundation
import Synchronization

/// Answers each request by the next of its answers, closes the connection, and keeps what it received. Its thread ends
/// with the last answer.
final class AnsweringServer: Sendable {
  let url: String
  private let received = Mutex<[String]>([])
  private let pause = DispatchSemaphore(value: 0)

  /// The requests so far: head and body.
  var requests: [String] { received.withLock { $0 } }

  /// Lets an answer go on behind the NUL in it.
  func goOn() { pause.signal() }

  init(_ answers: String...) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard bind(listener, address, length) == 0, listen(listener, 16) == 0 else { return -1 }
        return getsockname(listener, address, &length) == 0 ? 0 : -1
      }
    }
    guard port == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
    url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    let thread = Thread { [self] in
      for answer in answers { serve(accept(listener, nil, nil), answer) }
      close(listener)
    }
    thread.start()
  }

  private func serve(_ connection: Int32, _ answer: String) {
    var text = ""
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while !Self.isWhole(text) {
      let count = read(connection, &buffer, buffer.count)
      guard count > 0 else { break }
      text += String(decoding: buffer[..<count], as: UTF8.self)
    }
    received.withLock { $0.append(text) }
    for (index, part) in answer.split(separator: "\0").enumerated() {
      if index > 0 { pause.wait() }
      _ = String(part).withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
    }
    close(connection)
  }

  private static func isWhole(_ text: String) -> Bool {
    guard let end = text.range(of: "\r\n\r\n") else { return false }
    let (head, body) = (text[..<end.lowerBound].lowercased(), text[end.upperBound...])
    if head.contains("transfer-encoding: chunked") { return body.hasSuffix("0\r\n\r\n") }
    guard let field = head.firstRange(of: /content-length: */) else { return true }
    return body.utf8.count >= Int(head[field.upperBound...].prefix { $0.isNumber }) ?? 0
  }
}

/// An answer with a body, after which the connection is closed.
func answer(_ status: String = "200 OK", _ fields: String = "", _ body: String = "") -> String {
  "HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
}
