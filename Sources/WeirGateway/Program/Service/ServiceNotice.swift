import WeirIO

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
