import WeirIO

/// The lines about places of endpoints that fail, and about answers that can't be used whole: at most one line of a kind
/// and upstream in a minute. Confined to the control loop.
final class DiscoveryLog {
  /// Seconds between two lines of one kind.
  private static let interval = 60.0

  private struct Kind: Hashable {
    let upstream: String
    let text: String
  }

  private let log: Logger
  private var told: [Kind: MonotonicTime] = [:]

  init(_ log: Logger) {
    self.log = log
  }

  func found(_ result: Discovery, _ entry: UpstreamEndpoints, at now: MonotonicTime) {
    let name = LogValue.string(entry.name)
    if result == .changed || result == .truncated {
      log.debug("endpoints changed", ["upstream": name, "endpoints": .integer(entry.count)])
    }
    if result == .truncated, isDue("cut", entry, at: now) {
      log.warn("too many endpoints; the first are used", ["upstream": name, "endpoints": .integer(entry.count)])
    }
    let refused = entry.refused
    if result == .changed, let first = refused.first, isDue("refused", entry, at: now) {
      log.warn(
        "the destination policy refuses endpoints",
        ["upstream": name, "endpoints": .integer(refused.count), "endpoint": .string(first)])
    }
  }

  func failed(_ entry: UpstreamEndpoints, _ problem: String, at now: MonotonicTime) {
    guard isDue("failed", entry, at: now) else { return }
    log.warn(
      "endpoints can't be found; the last ones stay",
      ["upstream": .string(entry.name), "endpoints": .integer(entry.count), "problem": .string(problem)])
  }

  private func isDue(_ text: String, _ entry: UpstreamEndpoints, at now: MonotonicTime) -> Bool {
    let kind = Kind(upstream: entry.name, text: text)
    if let last = told[kind], now.seconds(since: last) < Self.interval { return false }
    told[kind] = now
    return true
  }
}
