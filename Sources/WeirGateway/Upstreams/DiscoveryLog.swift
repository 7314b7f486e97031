import WeirIO
import WeirTransport

/// The lines about places of endpoints that fail, and about answers that can't be used whole: at most one line of a text
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
  /// The places of which a failure was told last.
  private var failing: Set<Kind> = []
  /// The lines that are remembered.
  private static let mostKinds = 1000

  init(_ log: Logger) {
    self.log = log
  }

  func found(
    _ result: Discovery, _ entry: UpstreamEndpoints, at place: EndpointSources.Place, at now: MonotonicTime
  ) {
    let name = LogValue.string(entry.name), count = LogValue.integer(entry.count)
    if failing.remove(Kind(upstream: entry.name, text: place)) != nil {
      log.info("endpoints are found again", ["upstream": name, "place": .string(place), "endpoints": count])
    } else if result == .changed || result == .truncated {
      log.debug("endpoints changed", ["upstream": name, "endpoints": count])
    }
    if result == .truncated, isDue("cut", entry, at: now) {
      log.warn("too many endpoints; the first are used", ["upstream": name, "endpoints": count])
    }
    let refused = entry.refused
    if let first = refused.first, isDue("refused", entry, at: now) {
      log.warn(
        "the destination policy refuses endpoints",
        ["upstream": name, "endpoints": .integer(refused.count), "endpoint": .string(first)])
    }
  }

  func failed(
    _ entry: UpstreamEndpoints, at place: EndpointSources.Place, _ problem: String, at now: MonotonicTime
  ) {
    failing.insert(Kind(upstream: entry.name, text: place))
    guard isDue(problem, entry, at: now) else { return }
    let consequence = entry.count > 0 ? "the last ones stay" : "there are none yet"
    log.warn(
      "endpoints can't be found; \(consequence)",
      ["upstream": .string(entry.name), "endpoints": .integer(entry.count), "problem": .string(problem)])
  }

  private func isDue(_ text: String, _ entry: UpstreamEndpoints, at now: MonotonicTime) -> Bool {
    let kind = Kind(upstream: entry.name, text: text)
    if let last = told[kind], now.seconds(since: last) < Self.interval { return false }
    if told.count >= Self.mostKinds { told = [:] }
    told[kind] = now
    return true
  }
}
