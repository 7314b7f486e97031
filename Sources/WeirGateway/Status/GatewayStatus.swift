import Synchronization
import WeirExporter
import WeirHTTP
import WeirIO
import WeirServer
import WeirTLS
import WeirTransport

/// The gateway's part of the status page: its listeners, routes and endpoints.
final class GatewayStatus: StatusSource {
  let recent: RecentRequests
  private let measured: GatewayMetrics
  private let file: String?
  private let gateway = Mutex(Shown())
  private let attempts = Mutex(EndpointAttempts())

  private struct Shown {
    weak var gateway: Gateway?
  }

  /// - Parameter file: The configuration's; nil for a gateway without one.
  init(_ metrics: GatewayMetrics, file: String?) {
    measured = metrics
    recent = metrics.recent
    self.file = file
  }

  /// Tells of this gateway from now on.
  func show(_ gateway: Gateway) { self.gateway.withLock { $0.gateway = gateway } }

  private var shown: Gateway? { gateway.withLock { $0.gateway } }

  let metrics = [
    [
      TrafficMetric("weir_gateway_requests_total", .requests, keys: ["route"], by: "outcome"),
      TrafficMetric("weir_gateway_requests_failed_total", .failed, keys: ["route"]),
      TrafficMetric("weir_gateway_requests_abandoned_total", .abandoned, keys: ["route"]),
      TrafficMetric("http_server_request_duration_seconds", .durations, keys: ["http_route"]),
    ],
    // One subject without a name: the lines that were dropped are its failures.
    [TrafficMetric("weir_access_log_lines_total", .failed, keys: [], by: "result", only: ["dropped"])],
  ]

  func turn() {
    _ = readEndpoints(shown?.state.endpoints ?? [], at: .now)
    attempts.withLock { $0.turn() }
  }

  private func readEndpoints(
    _ entries: [UpstreamEndpoints], at now: MonotonicTime
  ) -> [String: [EndpointReport.Line]] {
    var lines: [String: [EndpointReport.Line]] = [:]
    for entry in entries { lines[entry.name] = entry.set.report(at: now).endpoints }
    attempts.withLock { attempts in
      attempts.read(
        lines.flatMap { upstream, lines in
          lines.map { line in
            let counts = EndpointAttempts.Counts(
              successes: UInt32(truncatingIfNeeded: line.successes), failures: UInt32(truncatingIfNeeded: line.failures)
            )
            return (EndpointAttempts.Key(upstream: upstream, endpoint: line.name), counts)
          }
        })
    }
    return lines
  }

  func complete(
    _ status: inout StatusReport, _ facts: inout StatusFacts, traffic: [[TrafficTable.Subject]], at now: MonotonicTime
  ) {
    let state = shown?.state ?? (routes: [], endpoints: [], listeners: [])
    let lines = readEndpoints(state.endpoints, at: now)
    let names = UpstreamNames(named: Set(lines.keys))
    for list in [\StatusReport.failures, \.slowest] {
      for index in status[keyPath: list].indices {
        status[keyPath: list][index].upstream = names.name(status[keyPath: list][index].upstream)
      }
    }
    status.upstreams = status.upstreams.map { upstream in
      var upstream = upstream
      upstream.name = names.name(upstream.name)
      upstream.endpoints = endpoints(upstream.name, lines[upstream.name] ?? [], status.failures)
      return upstream
    }
    status.listeners = state.listeners.map { entry in
      let counts = ListenerCounts(entry.tallies)
      return StatusReport.Listener(
        name: entry.settings.name, address: "\(entry.listener.address)", isSecure: entry.tls != nil,
        handshaking: counts.handshaking, idle: counts.idle, active: counts.active)
    }
    status.credentials = (shown?.credentials.all ?? []).map { credential in
      let report = credential.report(at: now)
      return StatusReport.Credential(
        name: report.name, state: report.state.rawValue, expiresIn: report.expiresIn, failure: report.failure,
        waiting: report.waiting)
    }
    facts.secretFiles = (shown?.credentials.files ?? []).compactMap { key, file in
      file.problem.map { (key, "\($0)") }
    }
    if let file {
      let (loaded, isSuccessful) = measured.configuration
      status.configuration = .init(file: file, loaded: loaded, isSuccessful: isSuccessful)
    }
    let routes = Dictionary(traffic[0].map { ($0.key, $0.traffic) }) { first, _ in first }
    // Those that the table has no room for are in the rest.
    status.routes = state.routes.filter { routes[[$0.name]] != nil }.map { route in
      StatusReport.Route(
        name: route.name, upstream: names.text(of: route), traffic: routes[[route.name]] ?? StatusReport.Traffic())
    }
    if let rest = routes[TrafficTable.rest] {
      status.routes.append(StatusReport.Route(name: "_other", upstream: "", traffic: rest))
    }
    facts.certificates = state.listeners.flatMap { entry in
      (entry.tls?.source.certificates ?? []).map { (entry.settings.name, $0.name ?? "", Double($0.notAfter)) }
    }
    facts.failedDiscoveries = state.endpoints.filter(\.discoveries.isFailing).map { entry in
      (entry.name, entry.discoveries.lastAnswer.map { status.now - $0.seconds })
    }
    facts.limited = status.routes.compactMap { route in
      let window = route.traffic.last10s
      let refused = window.outcomes.reduce(0) { $0 + (Self.limits.contains($1.name) ? $1.count : 0) }
      // Limits are there to refuse a few.
      return refused * 20 > window.requests ? (route.name, refused) : nil
    }
    facts.droppedLines = traffic[1].reduce(0) { $0 + $1.traffic.last10s.failed }
  }

  /// The outcomes of requests that a limit of a route refused.
  private static let limits: Set<String> = ["busy", "rate_limited"]

  private func endpoints(
    _ upstream: String, _ lines: [EndpointReport.Line], _ failures: [RecentRequest]
  ) -> [StatusReport.Endpoint] {
    let counts = attempts.withLock { attempts in
      lines.map { attempts.counts(of: .init(upstream: upstream, endpoint: $0.name)) }
    }
    let all10s = counts.reduce(0) { $0 + $1.last10s.all }
    let all5m = counts.reduce(0) { $0 + $1.last5m.all }
    return zip(lines, counts).map { line, counts in
      var endpoint = StatusReport.Endpoint(
        address: line.name, state: line.state.rawValue, inFlight: line.active,
        failures10s: Int(counts.last10s.failures), failures5m: Int(counts.last5m.failures))
      endpoint.share10s = all10s > 0 ? Double(counts.last10s.all) / Double(all10s) : nil
      endpoint.share5m = all5m > 0 ? Double(counts.last5m.all) / Double(all5m) : nil
      endpoint.ewma = line.latency
      endpoint.lastFailure = failures.first { $0.endpoint == line.name && $0.upstream == upstream }
      return endpoint
    }
  }
}

/// The attempts at each endpoint of named upstreams, of the last ten seconds and five minutes.
struct EndpointAttempts {
  struct Key: Hashable {
    var upstream: String
    var endpoint: String
  }

  struct Counts: SpanCounts, Equatable {
    var successes: UInt32 = 0
    var failures: UInt32 = 0

    var all: Int { Int(successes) + Int(failures) }

    mutating func add(_ other: Counts) {
      successes &+= other.successes
      failures &+= other.failures
    }

    fileprivate func since(_ before: Counts) -> Counts {
      Counts(successes: successes &- before.successes, failures: failures &- before.failures)
    }
  }

  private struct Entry {
    var ring = SpanRing<Counts>()
    var last: Counts
    var seen: Int
  }

  private var entries: [Key: Entry] = [:]
  private var readings = 0

  /// Takes the counts of all endpoints, each since it is known.
  mutating func read(_ endpoints: [(key: Key, counts: Counts)]) {
    readings += 1
    for (key, counts) in endpoints {
      // Counts from before the first reading may be old. A later endpoint is new.
      var entry = entries[key] ?? Entry(last: readings == 1 ? counts : Counts(), seen: 0)
      // An endpoint that left and came back counts from zero: the difference wraps around.
      let change = counts.since(entry.last)
      let isAnew = max(change.successes, change.failures) > .max / 2
      entry.ring.present.add(isAnew ? counts : change)
      entry.last = counts
      entry.seen = readings
      entries[key] = entry
    }
    entries = entries.filter { $0.value.seen == readings }
  }

  /// Ends a bucket of five seconds.
  mutating func turn() {
    for key in entries.keys { entries[key]?.ring.turn() }
  }

  func counts(of key: Key) -> (last10s: Counts, last5m: Counts) {
    guard let ring = entries[key]?.ring else { return (Counts(), Counts()) }
    return (ring.last10s, ring.last5m)
  }
}

/// How upstreams are called: entries by their names, others as `host:port`.
struct UpstreamNames {
  let named: Set<String>

  /// - Parameter authority: As the metrics have it, `host:port`.
  func name(_ authority: String) -> String {
    guard let colon = authority.lastIndex(of: ":") else { return authority }
    let host = String(authority[..<colon])
    return named.contains(host) ? host : authority
  }

  func name(of upstream: Upstream) -> String {
    let destination = upstream.destination
    return name(StatusReport.Upstream.name(host: destination.host, port: String(destination.port)))
  }

  /// Where a route leads; empty for one that answers itself.
  func text(of route: Route) -> String {
    var names = route.isRequested ? ["as requested"] : []
    for name in route.upstreams.map({ name(of: $0) }) where !names.contains(name) { names.append(name) }
    return names.joined(separator: ", ")
  }
}
