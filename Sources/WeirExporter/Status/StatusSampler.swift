import Foundation
import Weir
package import WeirIO
import WeirMetrics
import WeirServer

/// A program's own part of the status page, beside the destinations of its requests. Called on the exporter's thread.
package protocol StatusSource: Sendable {
  /// The metrics that tell of its own subjects, such as routes, for each kind of subject.
  var metrics: [[TrafficMetric]] { get }

  /// The requests that it has noted.
  var recent: RecentRequests { get }

  /// Ends a bucket of five seconds.
  func turn()

  /// Adds what it knows to a report, and to what problems are judged by.
  /// - Parameters:
  ///   - traffic: That of each kind of subject.
  ///   - now: The time of the report.
  func complete(
    _ report: inout StatusReport, _ facts: inout StatusFacts, traffic: [[TrafficTable.Subject]], at now: MonotonicTime)
}

/// Reads the metrics every five seconds, and answers for the status page. Confined to the exporter's loop.
final class StatusSampler {
  /// How long a report is good for, in seconds.
  private static let life = 1.0
  /// One late turn among fewer shows no pattern.
  private static let leastLags = 5
  private static let length = Double(StatusReport.History.bucketSeconds)

  private let registry: Registry
  private let source: (any StatusSource)?
  private let title: String
  /// Weak, since the loop ends with its last reference, and keeps the timer with the sampler until then.
  private weak var loop: EventLoop?
  private let recent: RecentRequests
  private let paces: KnownPaces
  private let files = ProcessFiles()
  private let started: Double
  private let timer = LoopTimer()
  /// The traffic of destinations, of loops, and of each kind of subject of the source.
  private var tables: [TrafficTable]
  private var operations: TrafficTable
  /// When the present bucket ends.
  private var end: MonotonicTime
  private var latest: Sample?

  /// A report, and its two forms once they were asked for.
  private final class Sample {
    let time: MonotonicTime
    let report: StatusReport
    lazy var html = StatusPage.html(report)
    lazy var json = StatusJSON.bytes(report)

    init(_ report: StatusReport, at time: MonotonicTime) {
      self.report = report
      self.time = time
    }
  }

  init(_ registry: Registry, _ source: (any StatusSource)?, title: String, on loop: EventLoop) {
    self.registry = registry
    self.source = source
    self.title = title
    self.loop = loop
    recent = source?.recent ?? registry.companion { RecentRequests() }
    paces = registry.companion { KnownPaces() }
    operations = TrafficTable(
      TrafficMetric.ofOperations, most: TrafficTable.mostOperations, hasCharts: false)
    tables = ([TrafficMetric.ofDestinations, TrafficMetric.ofLoops] + (source?.metrics ?? [])).map { TrafficTable($0) }
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

  private func read() {
    registry.prepareForPage()
    for index in tables.indices { tables[index].read(registry) }
    operations.read(registry)
  }

  private func turn(at now: MonotonicTime) {
    recent.turn(at: now)
    while end <= now {
      end = end.advanced(bySeconds: Self.length)
      for index in tables.indices { tables[index].turn() }
      operations.turn()
      source?.turn()
    }
  }

  // MARK: Pages

  /// The pages of a sampler, by path.
  static func pages(_ sampler: LoopBound<StatusSampler>) -> [String: ExporterPage] {
    func page(_ type: String, policy: String? = nil, _ body: @escaping @Sendable (Sample) -> [UInt8]) -> ExporterPage {
      var fields = [(name: "Content-Type", value: type)]
      if let policy { fields.append((name: "Content-Security-Policy", value: policy)) }
      return ExporterPage { [fields] _, done in
        done(ExporterPage.Response(status: 200, fields: fields, body: body(sampler.value.sample(at: .now))))
      }
    }
    return [
      "/status": page("text/html; charset=utf-8", policy: StatusPage.securityPolicy, \.html),
      "/status.json": page("application/json", \.json),
    ]
  }

  /// A new sample, or one that is less than a second old.
  private func sample(at now: MonotonicTime) -> Sample {
    if let latest, now.seconds(since: latest.time) < Self.life { return latest }
    let sample = Sample(report(at: now), at: now)
    latest = sample
    return sample
  }

  private func report(at now: MonotonicTime) -> StatusReport {
    read()
    turn(at: now)
    let age = max(0, Self.length - end.seconds(since: now))
    var report = StatusReport(
      title: title, version: WeirInfo.version, started: started, now: Date().timeIntervalSince1970)
    let traffic = tables.map { $0.subjects(presentFor: age) }
    let operations = Dictionary(grouping: operations.subjects(presentFor: age)) { Array($0.key.dropLast()) }
    report.upstreams = traffic[0].map { subject in
      var upstream = StatusReport.Upstream(subject)
      upstream.operations = StatusReport.Operation.ranked(operations[subject.key] ?? [])
      upstream.failedAttempts10s = (operations[subject.key] ?? []).reduce(0) { $0 + $1.traffic.last10s.failed }
      (upstream.hasPace, upstream.pausedFor) = paces.state(of: subject.key, at: now)
      return upstream
    }
    (report.failures, report.slowest) = recent.lists
    var facts = StatusFacts()
    facts.lags = traffic[1].compactMap { loop in
      guard loop.traffic.last10s.observations >= Self.leastLags else { return nil }
      return loop.traffic.last10s.p99.map { (loop.key.first ?? "", $0) }
    }.sorted { $0.seconds > $1.seconds }
    facts.descriptors = files.descriptors()
    source?.complete(&report, &facts, traffic: Array(traffic[2...]), at: now)
    report.problems = StatusProblems.of(report, facts)
    return report
  }
}

extension StatusSampler: TimerHandler {
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
    let inFlight = Int(clamping: gauges.inFlight)
    self.init(
      name: Self.name(host: host, port: port), traffic: subject.traffic, inFlight: inFlight,
      waiting: max(0, inFlight - Int(clamping: gauges.activeAttempts)), budget: gauges.budget, circuit: gauges.circuit,
      limit: gauges.limit.map { Int(clamping: $0) }, used: gauges.used.map { Int(clamping: $0) },
      loadControl: gauges.loadControl)
  }
}

extension StatusReport.Operation {
  private var rank: Double? { isJudged ? last10s.p99 : last5m.p99 }

  /// The operations that have a name, and had requests in the last five minutes. The slowest first: those that can be judged
  /// by the last ten seconds before the others.
  fileprivate static func ranked(_ subjects: [TrafficTable.Subject]) -> [Self] {
    let all = subjects.map { Self(name: $0.key.last ?? "", last10s: $0.traffic.last10s, last5m: $0.traffic.last5m) }
    return all.filter { !$0.name.isEmpty && $0.last5m.requests > 0 }.sorted { one, other in
      if one.isJudged != other.isJudged { return one.isJudged }
      let (left, right) = (one.rank ?? 0, other.rank ?? 0)
      return left == right ? one.name < other.name : left > right
    }
  }
}

extension Int {
  /// The nearest integer; 0 for what is no number.
  fileprivate init(clamping value: Double) {
    self = value.isNaN ? 0 : Int(exactly: Swift.min(Swift.max(value, -1e15), 1e15).rounded()) ?? 0
  }
}
