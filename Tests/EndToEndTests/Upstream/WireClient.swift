import CLinux
import Glibc
import WeirTestSupport

/// A blocking client that sends exact bytes and keeps exactly what comes. Gives up on a silence of half a minute.
final class WireClient {
  enum Ending: Equatable {
    /// The other side closed.
    case end
    case reset
    case silence
  }

  private let descriptor: CInt
  /// Received, and not yet taken by a response.
  private(set) var bytes: [UInt8] = []
  /// Nil while the connection is open.
  private(set) var ending: Ending?

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var time = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw PeerError("no connection to port \(port)") }
  }

  deinit {
    close(descriptor)
  }

  func send(_ text: String) {
    send(bytes: UpstreamCase.bytes(text))
  }

  func send(bytes: [UInt8]) {
    _ = Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL))
  }

  /// Reads until `isEnough`; false if the connection ends before.
  func read(until isEnough: ([UInt8]) -> Bool) -> Bool {
    while !isEnough(bytes) { guard fill() else { return false } }
    return true
  }

  func readToEnd() {
    while fill() {}
  }

  func take(_ count: Int) -> [UInt8] {
    defer { bytes.removeFirst(count) }
    return Array(bytes[..<count])
  }

  private func fill() -> Bool {
    guard ending == nil else { return false }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count > 0 { bytes += buffer[..<count] }
    if count == 0 { ending = .end }
    if count < 0 { ending = errno == ECONNRESET ? .reset : .silence }
    return count > 0
  }
}
