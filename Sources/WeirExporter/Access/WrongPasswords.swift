import WeirIO

/// The wrong passwords of clients. A client with too many of them is barred until a minute has passed since the first.
/// A value, with the time passed in.
struct WrongPasswords: Sendable {
  struct Limits: Sendable {
    /// The wrong passwords within the window after which a client is barred.
    var count = 10
    /// In seconds, from a client's first wrong password on.
    var window = 60.0
    /// The clients that are remembered. Those whose window began first make place for others.
    var clients = 4096
  }

  private let limits: Limits
  private var windows: [IPAddress?: (end: MonotonicTime, count: Int)] = [:]
  /// The clients in the order in which their windows began, which is that of their ends.
  private var order = Deque<IPAddress?>()

  init(_ limits: Limits) {
    self.limits = limits
  }

  /// The number of clients that are remembered.
  var clientCount: Int { windows.count }

  /// The seconds for which a client is barred; nil if it isn't.
  func barred(_ client: IPAddress?, _ now: MonotonicTime) -> Double? {
    guard let window = windows[client], window.count >= limits.count, now < window.end else { return nil }
    return window.end.seconds(since: now)
  }

  mutating func note(_ client: IPAddress?, _ now: MonotonicTime) {
    while let oldest = order.first, let window = windows[oldest], window.end <= now { forgetOldest() }
    if windows[client] != nil {
      windows[client]?.count += 1
      return
    }
    if windows.count >= limits.clients { forgetOldest() }
    windows[client] = (now.advanced(bySeconds: limits.window), 1)
    order.append(client)
  }

  private mutating func forgetOldest() {
    if let oldest = order.popFirst() { windows[oldest] = nil }
  }
}
