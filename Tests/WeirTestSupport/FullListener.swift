import CLinux
import Glibc
import WeirIO

/// A port on which connections neither succeed nor fail: its queue is full and nobody accepts.
package final class FullListener: Sendable {
  package let port: Int
  private let listener: CInt
  private let fillers: [CInt]

  package init() throws {
    (listener, port) = try ServerSocket.listenOnLoopback(queue: 0)
    var fillers: [CInt] = []
    // Linux takes one connection more than the queue holds, and drops the rest.
    for _ in 0..<4 { fillers.append(try ServerSocket.beginConnecting(toLoopback: port)) }
    self.fillers = fillers
  }

  deinit {
    for fd in fillers { close(fd) }
    close(listener)
  }

  package var url: String { "http://127.0.0.1:\(port)/" }
}
