import CLinux
import FuzzSupport
import Glibc

/// A client's connection to the gateway, which gathers what comes.
final class RawConnection {
  let port: UInt16
  private let poll: Poll
  private let descriptor: CInt
  private(set) var received: [UInt8] = []
  private(set) var isOver = false
  private(set) var wasReset = false

  init(port: UInt16, poll: Poll) {
    self.port = port
    self.poll = poll
    descriptor = connect(toLoopback: port)
    poll.watch(descriptor) { [unowned self] in receive() }
  }

  deinit {
    if !isOver { poll.forget(descriptor) }
    close(descriptor)
  }

  func send(_ bytes: [UInt8]) {
    _ = Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL))
  }

  /// Drops the first of the bytes received.
  func take(_ count: Int) {
    received.removeFirst(count)
  }

  private func receive() {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    let count = recv(descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
    if count > 0 { return received += buffer[..<count] }
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    wasReset = count < 0
    isOver = true
    poll.forget(descriptor)
  }
}

/// Has the gateway's loop turn: it answers at once to what no route takes.
final class Prober {
  private let descriptor: CInt

  init(port: UInt16) {
    descriptor = connect(toLoopback: port)
  }

  func turn() {
    let request = Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
    var buffer = [UInt8](repeating: 0, count: 1024)
    let sent = Glibc.send(descriptor, request, request.count, CInt(MSG_NOSIGNAL))
    var count = 0
    // libFuzzer's timer interrupts.
    repeat { count = recv(descriptor, &buffer, buffer.count, 0) } while count < 0 && errno == EINTR
    guard sent == request.count, count > 0 else {
      fatalError("the gateway doesn't answer: \(sent) sent, \(count) received, error \(errno)")
    }
  }
}

private func connect(toLoopback port: UInt16) -> CInt {
  let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
  var time = timeval(tv_sec: 8, tv_usec: 0)
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  address.sin_port = port.bigEndian
  let result = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  guard result == 0 else { fatalError("no connection to the gateway: \(errno)") }
  return descriptor
}
