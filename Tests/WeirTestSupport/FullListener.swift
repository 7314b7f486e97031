import CLinux
import Glibc
import WeirIO

/// A port on which connections neither succeed nor fail: its queue is full and nobody accepts.
package final class FullListener: Sendable {
  package let port: Int
  private let listener: CInt
  private let fillers: [CInt]

  /// - Parameters:
  ///   - host: the last number of an address of 127.0.0.0/8.
  ///   - port: 0 for a free one.
  package init(host: UInt8 = 1, port: Int = 0) throws {
    (listener, self.port) = try ServerSocket.listenOnLoopback(queue: 0, host: host, port: port)
    var fillers: [CInt] = []
    // Linux takes one connection more than the queue holds, and drops the rest.
    for _ in 0..<4 { fillers.append(try ServerSocket.beginConnecting(toLoopback: self.port, host: host)) }
    self.fillers = fillers
  }

  /// The same on ::1.
  package init(ipv6Port port: Int) throws {
    self.port = port
    listener = try ServerSocket.listenOnIPv6Loopback(port: port)
    var fillers: [CInt] = []
    for _ in 0..<4 { fillers.append(try ServerSocket.beginConnecting(toIPv6Loopback: port)) }
    self.fillers = fillers
  }

  deinit {
    for fd in fillers { close(fd) }
    close(listener)
  }

  package var url: String { "http://127.0.0.1:\(port)/" }
}
