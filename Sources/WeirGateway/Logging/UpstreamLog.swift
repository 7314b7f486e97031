import Synchronization
import WeirIO
import WeirTransport

/// Writes the lines about upstreams in trouble, and about callers that leave. Shared by all workers.
final class UpstreamLog: Sendable {
  private let log: Logger
  /// The length of a window in seconds.
  private let window: Double
  /// Those of which something is to be said. Others are forgotten at once, as clients of a forward proxy name ever new ones.
  private let upstreams = Mutex<[Destination: UpstreamNotes]>([:])

  init(_ log: Logger, window: Double) {
    self.log = log
    self.window = window
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

  /// The number of upstreams of which something is to be said.
  var count: Int { upstreams.withLock { $0.count } }

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

  /// Notes an event of an upstream, and writes the lines that are due.
  func note(_ upstream: Destination, _ event: (inout UpstreamNotes) -> [UpstreamNotes.Line]) {
    guard log.level <= .warn else { return }
    let lines = upstreams.withLock { upstreams in
      var notes = upstreams[upstream] ?? UpstreamNotes(length: window)
      defer { upstreams[upstream] = notes.isEmpty ? nil : notes }
      return event(&notes)
    }
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
    case .gaveUp(let count, let phase, let age, let window):
      log.warn(
        "callers gave up",
        [
          "upstream": name, "count": .integer(count), "phase": .string(phase.rawValue), "median_age": .seconds(age),
          "window": .seconds(window),
        ])
    case .limited(let count, let window):
      log.warn(
        "upstream limits requests", ["upstream": name, "count": .integer(count), "window": .seconds(window)])
    case .paused(let seconds, let count, let refused, let window):
      log.warn(
        "upstream asks for a pause",
        [
          "upstream": name, "seconds": .seconds(seconds), "count": .integer(count), "refused": .integer(refused),
          "window": .seconds(window),
        ])
    case .paced(let refused, let window):
      log.warn("pace refuses requests", ["upstream": name, "refused": .integer(refused), "window": .seconds(window)])
    case .overloadIsOver(let seconds, let shed):
      log.info("overload is over", ["upstream": name, "seconds": .seconds(seconds), "shed": .integer(shed)])
    case .answersAgain(let seconds, let shed):
      log.info("upstream answers again", ["upstream": name, "seconds": .seconds(seconds), "shed": .integer(shed)])
    }
  }
}

/// The lines about one upstream that gets more requests than it answers in time or its pace allows, has ceased to answer or
/// asks for pauses, or whose callers leave. There is at most one line of a kind in a window of time, with what happened since the line before.
struct UpstreamNotes: Sendable {
  /// In each case `window` is the seconds in which the line's events happened; nil for a single event, told at once.
  enum Line: Equatable, Sendable {
    /// The numbers of requests that asked for the upstream, that were answered, and that were refused. Refusals of a
    /// silence are not among them.
    case overloaded(offered: Int, served: Int, shed: Int, limit: Int, baseline: Double?, window: Double)
    /// Seconds since the first request that was sent after the last sign of the upstream, attempts that it has not
    /// answered, and requests that were refused for its silence.
    case silent(seconds: Double, underWay: Int, shed: Int, window: Double)
    /// `age` is the median of the seconds that the callers had waited.
    case gaveUp(count: Int, phase: AbandonedPhase, age: Double, window: Double?)
    /// Answers of 429.
    case limited(count: Int, window: Double?)
    /// Pauses that began, requests that were refused in pauses, and the most seconds that were left of a pause.
    case paused(seconds: Double, count: Int, refused: Int, window: Double?)
    /// Requests that the pace refused without a pause.
    case paced(refused: Int, window: Double)
    case overloadIsOver(seconds: Double, shed: Int)
    case answersAgain(seconds: Double, shed: Int)
  }

  private enum Kind: CaseIterable {
    case overloaded, silent, gaveUp, limited, paused, paced
  }

  /// The events since a line, for the next one.
  private struct Tally {
    var count = 0
    var offered = 0
    var served = 0
    var shed = 0
    /// The most seconds that were left of a pause.
    var pause = 0.0
    var phases: [AbandonedPhase: Int] = [:]
    /// The ages of the first callers that gave up.
    var ages: [Double] = []

    var isEmpty: Bool { count == 0 && shed == 0 }
  }

  private struct Window {
    var begin: MonotonicTime
    var tally = Tally()
  }

  /// A time in which the upstream was overloaded or silent.
  private struct Trouble {
    let begin: MonotonicTime
    var last: MonotonicTime
    var shed = 0
    /// The length of a silence as the last report has it.
    var silence = 0.0
  }

  /// The most ages that are kept for the median.
  private static let mostAges = 100

  /// Nanoseconds from one report to the next.
  private static let reportInterval: Int64 = 1_000_000_000

  /// The length of a window in seconds.
  private let length: Double
  private var windows: [Kind: Window] = [:]
  private var overload: Trouble?
  private var silence: Trouble?
  /// Whether the last report of the pace told of a pause that is not over.
  private var isPaused = false
  /// The last report, and when it came.
  private var latest: OverloadReport?
  private var reported: MonotonicTime?

  init(length: Double) {
    self.length = length
  }

  /// Whether nothing is left to say.
  var isEmpty: Bool { windows.isEmpty && overload == nil && silence == nil && !isPaused }

  /// When to call ``timePassed(at:)`` at the latest.
  var nextEnd: MonotonicTime? {
    var ends = windows.values.map { $0.begin.advanced(bySeconds: length) }
    // During a silence an overload does not end.
    if let overload, silence == nil { ends.append(overload.last.advanced(bySeconds: length)) }
    return ends.min()
  }

  // MARK: Events

  /// A caller left. Only those that waited for a head show a slow upstream.
  mutating func gaveUp(in phase: AbandonedPhase, after seconds: Double, at now: MonotonicTime) -> [Line] {
    if phase == .body { return [] }
    return note(.gaveUp, since: nil, at: now) { tally in
      tally.phases[phase, default: 0] += 1
      if tally.ages.count < Self.mostAges { tally.ages.append(seconds) }
    }
  }

  mutating func limited(at now: MonotonicTime) -> [Line] { note(.limited, since: nil, at: now) { _ in } }

  /// A pause has begun, goes on or is over, or the pace has refused requests.
  mutating func paced(_ report: PauseReport, at now: MonotonicTime) -> [Line] {
    let isOfPause = isPaused || report.left > 0 || report.begun > 0
    isPaused = report.left > 0
    guard report.begun > 0 || report.refused > 0 else { return [] }
    let before = MonotonicTime(nanoseconds: now.nanoseconds - Self.reportInterval)
    return note(isOfPause ? .paused : .paced, since: isOfPause ? nil : before, at: now) { tally in
      tally.count += report.begun - 1
      tally.shed += report.refused
      tally.pause = max(tally.pause, report.left)
    }
  }

  mutating func report(_ report: OverloadReport, at now: MonotonicTime) -> [Line] {
    let before = reported ?? MonotonicTime(nanoseconds: now.nanoseconds - Self.reportInterval)
    (latest, reported) = (report, now)
    // Since the last report a silence may have ended, or even begun and ended.
    let silent = report.shed[.silent] ?? 0
    let shed = report.shed.values.reduce(0, +) - silent
    var lines: [Line] = []
    if report.state == .silent || silent > 0 || report.silence != nil {
      // While nothing is asked for and nothing is under way, there is nothing to tell. The end has a line of its own.
      let isNews = silence == nil || report.state == .silent && (report.offered > 0 || report.used > 0)
      Self.extend(&silence, silent, at: now)
      if let seconds = report.silence { silence?.silence = seconds }
      if isNews { lines += note(.silent, since: before, at: now) { $0.shed += silent } }
    }
    if report.state != .silent { lines += endSilence(report) }
    if report.state == .overloaded || shed > 0 {
      Self.extend(&overload, shed, at: now)
      lines += note(.overloaded, since: before, at: now) { tally in
        tally.offered += report.offered
        tally.served += report.served
        tally.shed += shed
      }
    }
    return lines + timePassed(at: now)
  }

  /// Returns the lines of windows that have ended. Those that counted anything begin anew.
  mutating func timePassed(at now: MonotonicTime) -> [Line] {
    var lines: [Line] = []
    for kind in Kind.allCases {
      guard let window = windows[kind], window.begin.advanced(bySeconds: length) <= now else { continue }
      windows[kind] = window.tally.isEmpty ? nil : Window(begin: now)
      if !window.tally.isEmpty { lines.append(line(kind, window.tally, length)) }
    }
    return lines + endOverload(at: now)
  }

  /// The lines of windows that have not ended. A time of trouble may go on after this process.
  func untold(at now: MonotonicTime) -> [Line] {
    Kind.allCases.compactMap { kind in
      guard let window = windows[kind], !window.tally.isEmpty else { return nil }
      return line(kind, window.tally, now.seconds(since: window.begin))
    }
  }

  // MARK: Lines

  /// - Parameter begin: When the time began in which the events happened that are counted; nil for a single event.
  private mutating func note(
    _ kind: Kind, since begin: MonotonicTime?, at now: MonotonicTime, _ count: (inout Tally) -> Void
  ) -> [Line] {
    var tally = windows[kind]?.tally ?? Tally()
    tally.count += 1
    count(&tally)
    guard let window = windows[kind] else {
      windows[kind] = Window(begin: now)
      return [line(kind, tally, begin.map { now.seconds(since: $0) })]
    }
    let isOver = window.begin.advanced(bySeconds: length) <= now
    windows[kind] = isOver ? Window(begin: now) : Window(begin: window.begin, tally: tally)
    return isOver ? [line(kind, tally, now.seconds(since: window.begin))] : []
  }

  /// - Parameter seconds: The time that the tally covers; nil for a single event.
  private func line(_ kind: Kind, _ tally: Tally, _ seconds: Double?) -> Line {
    switch kind {
    case .overloaded:
      .overloaded(
        offered: tally.offered, served: tally.served, shed: tally.shed, limit: latest?.limit ?? 0,
        baseline: latest?.baseline, window: seconds ?? 0)
    case .silent:
      .silent(seconds: silence?.silence ?? 0, underWay: latest?.used ?? 0, shed: tally.shed, window: seconds ?? 0)
    case .gaveUp:
      .gaveUp(
        count: tally.count, phase: tally.phases.max { $0.value < $1.value }?.key ?? .upstream,
        age: tally.ages.sorted()[tally.ages.count / 2], window: seconds)
    case .limited: .limited(count: tally.count, window: seconds)
    case .paused: .paused(seconds: tally.pause, count: tally.count, refused: tally.shed, window: seconds)
    case .paced: .paced(refused: tally.shed, window: seconds ?? 0)
    }
  }

  // MARK: Times of trouble

  private static func extend(_ trouble: inout Trouble?, _ shed: Int, at now: MonotonicTime) {
    if trouble == nil { trouble = Trouble(begin: now, last: now) }
    trouble?.last = now
    trouble?.shed += shed
  }

  /// An overload is over once it has not come back for a window's length. One that has become a silence is not over.
  private mutating func endOverload(at now: MonotonicTime) -> [Line] {
    guard silence == nil, let trouble = overload, now.seconds(since: trouble.last) >= length else { return [] }
    overload = nil
    return [.overloadIsOver(seconds: trouble.last.seconds(since: trouble.begin), shed: trouble.shed)]
  }

  /// A silence is over. If load control was turned off meanwhile, or has forgotten the upstream, it is unknown whether the
  /// upstream answers.
  private mutating func endSilence(_ report: OverloadReport) -> [Line] {
    guard let trouble = silence else { return [] }
    silence = nil
    // This line's total includes what no line has told yet. A later line would say that the upstream is silent.
    windows[.silent]?.tally = Tally()
    if report.silence == nil { return [] }
    return [.answersAgain(seconds: trouble.silence, shed: trouble.shed)]
  }
}
