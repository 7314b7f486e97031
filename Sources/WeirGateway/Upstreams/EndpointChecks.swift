import WeirCurl
import WeirIO
import WeirTransport

/// Checks the endpoints of upstreams that ask for it, each by itself, and tells their sets. The checks draw on no budget,
/// have no slots of the upstream, and are no requests in the client's metrics. Confined to the loop.
final class EndpointChecks {
  /// The most checks that are under way at once.
  static let limit = 64

  private let loop: EventLoop
  private let credentials: CredentialRegistry
  private let log: Logger
  private var upstreams: [String: CheckedUpstream] = [:]
  private var endpoints: [Int: CheckedEndpoint] = [:]
  private var lastNumber = 0
  private var turns = CheckTurns<Int>(limit: EndpointChecks.limit)
  /// Nil until the first check.
  private var engines: Engines?

  init(_ credentials: CredentialRegistry, log: Logger, on loop: EventLoop) {
    self.credentials = credentials
    self.log = log
    self.loop = loop
  }

  /// Checks the endpoints of these entries, as far as they ask for it, and no others any more. An entry whose check has
  /// changed begins anew.
  func follow(_ entries: [UpstreamEndpoints], at now: MonotonicTime = .now) {
    let entries = Dictionary(entries.map { ($0.name, $0) }) { first, _ in first }
    for (name, upstream) in upstreams {
      let present = entries[name]?.upstream
      if upstream.entry === entries[name], let present,
        upstream.terms.holds(for: present, with: credentials)
      {
        continue
      }
      end(upstream)
      // A check may have ended since the entry forgot its results.
      if let present, present.check == nil { upstream.entry.set.forgetChecks(at: now) }
    }
    for entry in entries.values where upstreams[entry.name] == nil {
      guard let terms = CheckTerms(entry.upstream, credentials) else { continue }
      let upstream = CheckedUpstream(entry, terms, watch: watch(entry.name))
      upstreams[entry.name] = upstream
      compare(upstream, at: now)
    }
    giveTurns()
    if upstreams.isEmpty { closeEngines() }
  }

  /// Ends all checks.
  func close() {
    for upstream in upstreams.values { end(upstream) }
    closeEngines()
  }

  private func closeEngines() {
    engines?.close()
    engines = nil
  }

  // MARK: Endpoints

  /// Watches for updates of the entry's endpoints, which come from any thread.
  private func watch(_ name: String) -> EndpointWatch {
    let bound = LoopBound(confining: WeakChecks(checks: self), on: loop)
    return EndpointWatch { _ in
      bound.loop.post {
        guard let checks = bound.value.checks, let upstream = checks.upstreams[name] else { return }
        checks.compare(upstream, at: .now)
      }
    }
  }

  /// Begins with endpoints that have come, and ends with those that are gone.
  private func compare(_ upstream: CheckedUpstream, at now: MonotonicTime) {
    let present = upstream.entry.set.endpoints
    let identities = Set(present.map(ObjectIdentifier.init))
    for (identity, number) in upstream.numbers where !identities.contains(identity) {
      end(number)
      upstream.numbers[identity] = nil
    }
    for endpoint in present where upstream.numbers[ObjectIdentifier(endpoint)] == nil {
      lastNumber += 1
      upstream.numbers[ObjectIdentifier(endpoint)] = lastNumber
      let schedule = CheckSchedule(interval: upstream.terms.check.interval, random: .random(in: 0..<1), at: now)
      let checked = CheckedEndpoint(endpoint, of: upstream, number: lastNumber, schedule) { [weak self] in
        self?.isDue($0)
      }
      endpoints[lastNumber] = checked
      checked.wait(on: loop)
    }
    upstream.entry.checks.follow(Set(present.map(\.name)), at: now)
    giveTurns()
  }

  private func end(_ upstream: CheckedUpstream) {
    for number in upstream.numbers.values { end(number) }
    upstreams[upstream.entry.name] = nil
  }

  private func end(_ number: Int) {
    endpoints.removeValue(forKey: number)?.end(on: loop)
    turns.leave(number)
  }

  // MARK: Checks

  private func isDue(_ endpoint: CheckedEndpoint) {
    if turns.take(endpoint.number) { begin(endpoint) }
  }

  private func giveTurns() {
    while let number = turns.next() { if let endpoint = endpoints[number] { begin(endpoint) } }
  }

  private func begin(_ endpoint: CheckedEndpoint) {
    guard endpoint.schedule.begin(random: .random(in: 0..<1), at: .now) else { return turns.leave(endpoint.number) }
    let terms = endpoint.upstream.terms
    // Without a good token nothing is sent, which says nothing about the endpoint.
    guard let (headers, version) = terms.headers(at: .now) else { return rest(endpoint) }
    do throws(TransferError) {
      let engines = if let engines { engines } else { try Engines(loop: loop, options: Self.options, observer: nil) }
      self.engines = engines
      endpoint.run = CheckRun(
        terms.spec(of: endpoint.endpoint), headers, terms.check, by: engines,
        advice: TransferAdvice(options: Self.options, naming: .upstream)
      ) { [weak self, weak endpoint] outcome in
        guard let endpoint else { return }
        let isRefused = outcome?.status == 401 && terms.wasRefused(version, at: .now)
        if let outcome, outcome.result == .good { terms.wasTaken() }
        self?.ended(endpoint, isRefused ? nil : outcome)
      }
    } catch {
      // It is our own defect that no engine can be made.
      rest(endpoint)
    }
  }

  /// A check is not made after all. Its turn is free for those who give turns.
  private func rest(_ endpoint: CheckedEndpoint) {
    endpoint.schedule.end(at: .now)
    endpoint.wait(on: loop)
    turns.leave(endpoint.number)
  }

  private func ended(_ endpoint: CheckedEndpoint, _ outcome: CheckOutcome?) {
    let now = MonotonicTime.now
    endpoint.run = nil
    endpoint.schedule.end(at: now)
    endpoint.wait(on: loop)
    if let outcome { tell(outcome, endpoint, at: now) }
    turns.leave(endpoint.number)
    giveTurns()
  }

  private func tell(_ outcome: CheckOutcome, _ checked: CheckedEndpoint, at now: MonotonicTime) {
    let entry = checked.upstream.entry
    entry.checks.count(outcome.result, at: checked.endpoint.name)
    let thresholds = checked.upstream.terms.check.thresholds
    for event in entry.set.checked(checked.endpoint, isGood: outcome.result == .good, thresholds, at: now) {
      tell(event, outcome, entry.name)
    }
  }

  private func tell(_ event: EndpointEvent, _ outcome: CheckOutcome, _ upstream: String) {
    let name = LogValue.string(upstream), endpoint = LogValue.string(event.endpoint)
    switch event.kind {
    case .healthy: log.info("endpoint passes its checks again", ["upstream": name, "endpoint": endpoint])
    case .unhealthy:
      log.warn(
        "endpoint fails its checks",
        ["upstream": name, "endpoint": endpoint, "problem": .string(outcome.problem)])
    case .returned: log.info("endpoint is back", ["upstream": name, "endpoint": endpoint])
    case .ejected: break
    }
  }

  /// Each check opens a connection of its own, which shows that the endpoint takes new ones. A check's own timeout is the
  /// only one.
  private static let options: TransportOptions = {
    var options = TransportOptions()
    options.connectTimeout = EndpointCheck.timeouts.upperBound
    options.idleConnectionLifetime = 0
    options.maximumPooledConnections = limit
    options.maximumHeaderSize = 65_536
    options.httpVersion = .http1_1
    return options
  }()
}

private struct WeakChecks {
  weak var checks: EndpointChecks?
}

/// An entry whose endpoints are checked. Confined to the control loop.
final class CheckedUpstream {
  let entry: UpstreamEndpoints
  let terms: CheckTerms
  /// Hears of updates for as long as the entry is checked.
  private let watch: EndpointWatch
  /// The numbers of its endpoints' checks.
  var numbers: [ObjectIdentifier: Int] = [:]

  init(_ entry: UpstreamEndpoints, _ terms: CheckTerms, watch: EndpointWatch) {
    self.entry = entry
    self.terms = terms
    self.watch = watch
    entry.set.add(watch)
  }
}

/// An endpoint that is checked again and again. Confined to the control loop.
final class CheckedEndpoint {
  let endpoint: Endpoint
  let upstream: CheckedUpstream
  let number: Int
  var schedule: CheckSchedule
  /// The check under way.
  var run: CheckRun?
  /// Armed until the next check is due.
  private let timer = LoopTimer()
  private let onDue: (CheckedEndpoint) -> Void

  init(
    _ endpoint: Endpoint, of upstream: CheckedUpstream, number: Int, _ schedule: CheckSchedule,
    onDue: @escaping (CheckedEndpoint) -> Void
  ) {
    self.endpoint = endpoint
    self.upstream = upstream
    self.number = number
    self.schedule = schedule
    self.onDue = onDue
  }

  /// Waits until the next check is due.
  func wait(on loop: EventLoop) { loop.schedule(timer, at: schedule.due, handler: self) }

  /// Ends the check under way without an outcome, and waits for no other one.
  func end(on loop: EventLoop) {
    loop.cancel(timer)
    run?.cancel()
    run = nil
  }
}

extension CheckedEndpoint: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) { onDue(self) }
}

/// When one endpoint is checked. A value: times and random numbers are passed in.
///
/// A check is due, waits for its turn, is under way, and has ended; only then the next one may become due. So there are
/// never two checks of one endpoint at once.
struct CheckSchedule: Sendable {
  /// Seconds within which an endpoint is checked first.
  static let longestFirst = 1.0
  /// The part of the interval by which the time between two checks may differ from it.
  static let spread = 0.2

  let interval: Double
  /// When the next check begins; while one is under way, the earliest time for that.
  private(set) var due: MonotonicTime
  private(set) var isUnderWay = false

  /// The endpoint is known from now on.
  ///
  /// - Parameters:
  ///   - interval: Seconds from the begin of one check to that of the next.
  ///   - random: From 0 to 1.
  init(interval: Double, random: Double, at now: MonotonicTime) {
    self.interval = interval
    due = now.advanced(bySeconds: random * Self.longestFirst)
  }

  /// Begins a check. Returns false, and does not, before the check is due and while another one is under way.
  ///
  /// - Parameter random: From 0 to 1.
  mutating func begin(random: Double, at now: MonotonicTime) -> Bool {
    guard !isUnderWay, now >= due else { return false }
    isUnderWay = true
    due = now.advanced(bySeconds: interval * (1 - Self.spread + 2 * Self.spread * random))
    return true
  }

  /// The check has ended. A check that took longer than it may delays the next one.
  mutating func end(at now: MonotonicTime) {
    isUnderWay = false
    due = max(due, now)
  }
}

/// Limits the checks that are under way at once. Further ones wait, the first first. A value.
struct CheckTurns<Key: Hashable & Sendable>: Sendable {
  let limit: Int
  private(set) var underWay: Set<Key> = []
  private var waiting: Set<Key> = []
  /// The order of those that wait, with some that do so no more.
  private var queue = Deque<Key>()

  init(limit: Int) {
    self.limit = limit
  }

  /// The length of the queue, with those that wait no more.
  var length: Int { queue.count }

  /// Asks for a turn. Returns false if the check has to wait until ``next()`` names it.
  mutating func take(_ key: Key) -> Bool {
    if underWay.count < limit {
      underWay.insert(key)
      return true
    }
    if waiting.insert(key).inserted { queue.append(key) }
    return false
  }

  /// The check has ended, or is not wanted any more.
  mutating func leave(_ key: Key) {
    underWay.remove(key)
    guard waiting.remove(key) != nil, queue.count > 2 * waiting.count + limit else { return }
    let waiting = waiting
    queue.removeAll { !waiting.contains($0) }
  }

  /// Gives a turn to the check that has waited longest; nil if there is none, or no turn.
  mutating func next() -> Key? {
    while underWay.count < limit, let key = queue.popFirst() {
      guard waiting.remove(key) != nil else { continue }
      underWay.insert(key)
      return key
    }
    return nil
  }
}
