import Synchronization
import WeirIO
import WeirTransport

/// Writes the lines about upstreams in trouble, and about callers that leave. Shared by all workers.
final class UpstreamLog: Sendable {
  private let log: Logger
  /// The length of a window in seconds.
  private let window: Double
  private let upstreams = Mutex<[Destination: UpstreamNotes]>([:])

  init(_ log: Logger, window: Double) {
    self.log = log
    self.window = window
  }

  /// Whether the log's level lets any of these lines through.
  var isOn: Bool { log.level <= .warn }

  func note(_ report: OverloadReport, of upstream: Destination, at now: MonotonicTime = .now) {
    note(upstream) { $0.report(report, at: now) }
  }

  /// Tells that an endpoint is left out, or is back. How often that happens is bounded by the rules of ejections.
  func note(_ event: EndpointEvent, of upstream: Destination) {
    let name = LogValue.string(Upstream.authority(of: upstream)), endpoint = LogValue.string(event.endpoint)
    switch event.kind {
    case .ejected(let reason, let seconds):
      log.warn(
        "endpoint is left out",
        ["upstream": name, "endpoint": endpoint, "reason": .string(reason.rawValue), "seconds": .seconds(seconds)])
    case .returned: log.info("endpoint is back", ["upstream": name, "endpoint": endpoint])
    // Checks write lines of their own, with the problem.
    case .unhealthy, .healthy: break
    @unknown default: break
    }
  }

  func abandoned(_ upstream: Destination, in phase: AbandonedPhase, after seconds: Double, at now: MonotonicTime) {
    note(upstream) { $0.gaveUp(in: phase, after: seconds, at: now) }
  }

  func limited(_ upstream: Destination, at now: MonotonicTime) { note(upstream) { $0.limited(at: now) } }

  /// Writes what was counted in windows that have ended. Returns the time at which the next window ends.
  func windowsEnded(at now: MonotonicTime) -> MonotonicTime? {
    let (lines, next) = upstreams.withLock { upstreams in
      var lines: [(Destination, UpstreamNotes.Line)] = []
      for (upstream, notes) in upstreams {
        var notes = notes
        lines += notes.timePassed(at: now).map { (upstream, $0) }
        upstreams[upstream] = notes.isEmpty ? nil : notes
      }
      return (lines, upstreams.values.compactMap(\.nextEnd).min())
    }
    for (upstream, line) in lines { write(line, upstream) }
    return next
  }

  /// Writes what was counted and not told yet.
  func end(at now: MonotonicTime) {
    let lines = upstreams.withLock { upstreams in
      defer { upstreams = [:] }
      return upstreams.flatMap { upstream, notes in notes.untold(at: now).map { (upstream, $0) } }
    }
    for (upstream, line) in lines { write(line, upstream) }
  }

  private func note(_ upstream: Destination, _ event: (inout UpstreamNotes) -> [UpstreamNotes.Line]) {
    guard isOn else { return }
    let lines = upstreams.withLock { event(&$0[upstream, default: UpstreamNotes(length: window)]) }
    for line in lines { write(line, upstream) }
  }

  private func write(_ line: UpstreamNotes.Line, _ upstream: Destination) {
    let name = LogValue.string(Upstream.authority(of: upstream))
    switch line {
    case .overloaded(let offered, let served, let shed, let limit, let baseline, let window):
      log.warn(
        "upstream overloaded",
        [
          "upstream": name, "offered": .integer(offered), "served": .integer(served), "shed": .integer(shed),
          "limit": .integer(limit), "baseline": .seconds(baseline ?? 0), "window": .seconds(window),
        ])
    case .silent(let seconds, let underWay, let shed, let window):
      log.warn(
        "upstream is silent",
        [
          "upstream": name, "seconds": .seconds(seconds), "under_way": .integer(underWay), "shed": .integer(shed),
          "window": .seconds(window),
        ])
    case .gaveUp(let count, let phase, let age, let window?):
      log.warn(
        "callers gave up",
        [
          "upstream": name, "count": .integer(count), "phase": .string(phase.rawValue), "median_age": .seconds(age),
          "window": .seconds(window),
        ])
    case .gaveUp(let count, let phase, let age, nil):
      log.warn(
        "callers gave up",
        [
          "upstream": name, "count": .integer(count), "phase": .string(phase.rawValue), "median_age": .seconds(age),
        ])
    case .limited(let count, let window?):
      log.warn(
        "upstream limits requests", ["upstream": name, "count": .integer(count), "window": .seconds(window)])
    case .limited(let count, nil):
      log.warn("upstream limits requests", ["upstream": name, "count": .integer(count)])
    case .overloadIsOver(let seconds, let shed):
      log.info("overload is over", ["upstream": name, "seconds": .seconds(seconds), "shed": .integer(shed)])
    case .answersAgain(let seconds, let shed):
      log.info("upstream answers again", ["upstream": name, "seconds": .seconds(seconds), "shed": .integer(shed)])
    }
  }
}
