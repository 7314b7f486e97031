import Foundation
import Weir
import WeirIO
import WeirMetrics
import WeirServer

/// Reads the metrics every five seconds, and answers for the status page. Confined to the exporter's loop.
final class StatusDesk {
  /// How long a page is good for, in seconds.
  private static let life = 1.0
  /// One late turn among fewer shows no pattern.
  private static let leastLags = 5

  private let registry: Registry
  private let source: (any StatusSource)?
  private let title: String
  /// Weak, since the loop ends with its last reference, and keeps the timer with the desk until then.
  private weak var loop: EventLoop?
  private let recent: RecentRequests
  private let files = ProcessFiles()
  private let started: Double
  private let timer = LoopTimer()
  private var destinations = TrafficTable(TrafficMetric.ofDestinations)
  private var loops = TrafficTable(TrafficMetric.ofLoops)
  /// Those of the source.
  private var others: [TrafficTable]
  /// When the present bucket ends.
  private var end: MonotonicTime
  private var pages: (time: MonotonicTime, report: StatusReport, html: [UInt8]?, json: [UInt8]?)?

  init(_ registry: Registry, _ source: (any StatusSource)?, title: String, on loop: EventLoop) {
    self.registry = registry
    self.source = source
    self.title = title
    self.loop = loop
    recent = source?.recent ?? registry.companion { RecentRequests(hasReader: false) }
    others = (source?.metrics ?? []).map { TrafficTable($0) }
    started = Date().timeIntervalSince1970
    end = .now
    recent.turnOn()
  }

  /// Begins to read. Called on the loop.
  func start() {
    end = MonotonicTime.now.advanced(bySeconds: Self.length)
    read()
    loop?.schedule(timer, at: end, handler: self)
  }

  private static let length = Double(StatusReport.History.bucketSeconds)

  private func read() {
    registry.prepareForPage()
    destinations.read(registry)
    loops.read(registry)
    for index in others.indices { others[index].read(registry) }
  }

  private func turn(at now: MonotonicTime) {
    recent.turn(at: now)
    while end <= now {
      end = end.advanced(bySeconds: Self.length)
      destinations.turn()
      loops.turn()
      for index in others.indices { others[index].turn() }
      source?.turn()
    }
  }

  // MARK: Pages

  /// The pages of a desk, by path.
  static func pages(_ desk: LoopBound<StatusDesk>) -> [String: ExporterPage] {
    [
      "/status": ExporterPage { _, done in
        let policy = (name: "Content-Security-Policy", value: StatusPage.securityPolicy)
        done(
          ExporterPage.Response(
            status: 200, fields: [(name: "Content-Type", value: "text/html; charset=utf-8"), policy],
            body: desk.value.html(at: .now)))
      },
      "/status.json": ExporterPage { _, done in
        done(
          ExporterPage.Response(
            status: 200, fields: [(name: "Content-Type", value: "application/json")], body: desk.value.json(at: .now)))
      },
    ]
  }

  func html(at now: MonotonicTime) -> [UInt8] {
    let report = report(at: now)
    if let known = pages?.html { return known }
    let made = StatusPage.html(report)
    pages?.html = made
    return made
  }

  func json(at now: MonotonicTime) -> [UInt8] {
    let report = report(at: now)
    if let known = pages?.json { return known }
    let made = StatusJSON.bytes(report)
    pages?.json = made
    return made
  }

  /// The present report, or one that is less than a second old.
  func report(at now: MonotonicTime) -> StatusReport {
    if let pages, now.seconds(since: pages.time) < Self.life { return pages.report }
    let report = makeReport(at: now)
    pages = (now, report, nil, nil)
    return report
  }

  private func makeReport(at now: MonotonicTime) -> StatusReport {
    read()
    turn(at: now)
    let age = max(0, Self.length - end.seconds(since: now))
    var report = StatusReport(
      title: title, version: WeirInfo.version, started: started, now: Date().timeIntervalSince1970)
    report.upstreams = destinations.subjects(presentFor: age).map(StatusReport.Upstream.init)
    (report.failures, report.slowest) = recent.lists
    var facts = StatusFacts()
    facts.lags = loops.subjects(presentFor: age).compactMap { loop in
      guard loop.traffic.last10s.observations >= Self.leastLags else { return nil }
      return loop.traffic.last10s.p99.map { (loop.key.first ?? "", $0) }
    }.sorted { $0.seconds > $1.seconds }
    facts.descriptors = files.descriptors()
    source?.complete(&report, &facts, traffic: others.map { $0.subjects(presentFor: age) }, at: now)
    report.problems = StatusProblems.of(report, facts)
    return report
  }
}

extension StatusDesk: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    read()
    turn(at: now)
    loop?.schedule(timer, at: end, handler: self)
  }
}

extension StatusReport.Upstream {
  /// The name of a destination: `host:port`.
  package static func name(host: String, port: String) -> String {
    let shown = CanonicalHost(host).inURL
    return port.isEmpty ? shown : "\(shown):\(port)"
  }

  /// A destination, by its address and port.
  fileprivate init(_ subject: TrafficTable.Subject) {
    let (host, port) = (subject.key.first ?? "", subject.key.dropFirst().first ?? "")
    let gauges = subject.gauges
    self.init(
      name: StatusReport.Upstream.name(host: host, port: port), traffic: subject.traffic,
      inFlight: Int(clamping: gauges.inFlight),
      waiting: max(0, Int(clamping: gauges.inFlight) - Int(clamping: gauges.activeAttempts)))
    budget = gauges.budget
    circuit = gauges.circuit
    loadControl = gauges.loadControl
    limit = gauges.limit.map { Int(clamping: $0) }
    used = gauges.used.map { Int(clamping: $0) }
  }
}

extension Int {
  /// The nearest integer; 0 for what is no number.
  fileprivate init(clamping value: Double) {
    self = value.isNaN ? 0 : Int(exactly: Swift.min(Swift.max(value, -1e15), 1e15).rounded()) ?? 0
  }
}
