import Foundation
import Glibc
import WeirIO
import WeirTLS

/// Answers on a port of 127.0.0.1 over TLS, one connection after another, on a thread of its own. The answer's body
/// holds the facts of the connection.
final class LoopbackServer: Sendable {
  let port: Int
  private let listener: CInt

  init(_ context: TLSServerContext) throws {
    let descriptor = try systemCall { socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    try withUnsafeMutableBytes(of: &address) { bytes in
      let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
      _ = try systemCall { bind(descriptor, pointer, size) }
      _ = try systemCall { listen(descriptor, 64) }
      _ = try systemCall { getsockname(descriptor, pointer, &size) }
    }
    listener = descriptor
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread {
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return }
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        Self.serve(connection, context)
        close(connection)
      }
    }
  }

  deinit {
    shutdown(listener, CInt(SHUT_RDWR))
    close(listener)
  }

  private static func serve(_ connection: CInt, _ context: TLSServerContext) {
    guard let stream = try? TLSStream(context) else { return }
    var request: [UInt8] = []
    while true {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let state = stream.step()
      if state == .done { request += stream.readAll().bytes }
      send(stream, to: connection)
      switch state {
      case .plainHTTP:
        let answer = Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\nConnection: close\r\n\r\nTLS\n".utf8)
        Glibc.send(connection, answer, answer.count, CInt(MSG_NOSIGNAL))
        return
      case .failed: return
      case .done where request.ends(with: "\r\n\r\n") || stream.serverName == "greet.example":
        let facts =
          "\(stream.version) \(stream.isResumed ? "resumed" : "full") \(stream.serverName ?? "-") "
          + "\(stream.clientCertificate?.subject ?? "-")\n"
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(facts.utf8.count)\r\nConnection: close\r\n\r\n"
        try? stream.write(Array((head + facts).utf8))
        stream.closeNotify()
        send(stream, to: connection)
        shutdown(connection, CInt(SHUT_WR))
        while recv(connection, &bytes, bytes.count, 0) > 0 {}
        return
      case .done, .needsInput: break
      }
      let count = recv(connection, &bytes, bytes.count, 0)
      guard count > 0 else { return }
      stream.take(Array(bytes[..<count]))
    }
  }

  private static func send(_ stream: TLSStream, to connection: CInt) {
    while !stream.output.isEmpty {
      let count = Glibc.send(connection, stream.output.baseAddress, stream.output.count, CInt(MSG_NOSIGNAL))
      guard count > 0 else { return }
      stream.consumeOutput(count)
    }
  }
}

extension [UInt8] {
  fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
