import Glibc
import Synchronization
import WeirIO

/// Tells the service manager how the program fares, by datagrams. Does nothing if there is no manager that wants to know.
final class ServiceManager: Sendable {
  private let address: NotifyAddress?
  private let log: Logger
  private let hasFailed = Atomic(false)

  init(_ address: NotifyAddress?, log: Logger) {
    self.address = address
    self.log = log
  }

  /// Sends a notice; waits no longer than a second for a manager that does not read.
  func tell(_ notice: ServiceNotice) {
    guard let address else { return }
    do {
      try Self.send(notice.text, to: address)
    } catch {
      if hasFailed.exchange(true, ordering: .relaxed) { return }
      log.warn(
        "the service manager can't be told",
        ["socket": .string(address.text), "notice": .string(notice.text), "error": .string("\(error)")])
    }
  }

  private static func send(_ text: String, to address: NotifyAddress) throws(Errno) {
    let descriptor = try systemCall { socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0) }
    defer { close(descriptor) }
    var patience = timeval(tv_sec: 1, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var system = sockaddr_un()
    system.sun_family = sa_family_t(AF_UNIX)
    let path = address.path
    withUnsafeMutableBytes(of: &system.sun_path) { $0.copyBytes(from: path.prefix($0.count)) }
    // A name in the abstract namespace has no end but that of the address.
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
    let bytes = Array(text.utf8)
    _ = try systemCall {
      withUnsafePointer(to: &system) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL), $0, length)
        }
      }
    }
  }
}

/// The messages of sd_notify(3). A value; its text is what is sent.
enum ServiceNotice: Equatable {
  /// Requests are taken. After a reload it says that the reload is over.
  case ready(status: String)
  case reloading(at: MonotonicTime)
  case stopping(status: String)
  /// Another process is the service from now on.
  case mainProcess(CInt, status: String)
  /// A sign of life.
  case watchdog

  var text: String {
    switch self {
    case .ready(let status): "READY=1\nSTATUS=\(Self.line(status))"
    case .reloading(let time):
      "RELOADING=1\nMONOTONIC_USEC=\(time.nanoseconds / 1000)\nSTATUS=reading the configuration again"
    case .stopping(let status): "STOPPING=1\nSTATUS=\(Self.line(status))"
    case .mainProcess(let number, let status): "MAINPID=\(number)\nSTATUS=\(Self.line(status))"
    case .watchdog: "WATCHDOG=1"
    }
  }

  /// A status is one line.
  private static func line(_ text: String) -> String { text.replacing("\n", with: " ") }
}
