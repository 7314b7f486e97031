/// Says in words what is wrong. Pure: the report and the facts decide alone.
///
/// Traffic is judged by its last ten seconds, so that a problem shows soon and goes soon; the thresholds are those of
/// the alerts (deploy/prometheus), which look at longer spans.
package enum StatusProblems {
  /// Fewer requests within ten seconds show no pattern.
  static let leastRequests = 5

  package static func of(_ report: StatusReport, _ facts: StatusFacts) -> [StatusProblem] {
    var problems: [StatusProblem] = []
    for upstream in report.upstreams { problems += Self.problems(of: upstream, report) }
    for route in report.routes {
      if let problem = problem(of: route, problems) { problems.append(problem) }
    }
    problems += others(report, facts)
    return problems.enumerated().sorted { left, right in
      left.element.severity != right.element.severity
        ? left.element.severity < right.element.severity : left.offset < right.offset
    }.map(\.element)
  }

  // MARK: Upstreams

  private static func problems(of upstream: StatusReport.Upstream, _ report: StatusReport) -> [StatusProblem] {
    let window = upstream.traffic.last10s
    let failures = report.failures.filter { $0.upstream == upstream.name && report.now - $0.time <= 15 }
    return [
      down(upstream, window, failures), control(upstream, window), pace(upstream, window),
      limited(upstream, window), storm(upstream, window, failures), abandoned(upstream, window), slow(upstream, window),
      endpoints(upstream, report),
    ].compactMap(\.self)
  }

  /// Most of the requests that went out failed.
  private static func down(
    _ upstream: StatusReport.Upstream, _ window: StatusReport.Window, _ failures: [RecentRequest]
  ) -> StatusProblem? {
    let admitted = window.requests - window.shed - window.count(of: ["cancelled", "creation_failed"])
    let failed = window.failed - window.shed
    var circuit = ""
    if upstream.isInUse, let state = upstream.circuit, state != "closed" {
      circuit = state == "open" ? "; its circuit is open" : "; its circuit lets some requests through"
    }
    guard admitted >= leastRequests, failed * 2 > admitted else {
      if circuit.isEmpty { return nil }
      return StatusProblem(
        .destination, .bad, upstream.name, "was cut off after failures" + circuit + cause(failures, of: upstream))
    }
    let share = failed >= admitted ? "all of its requests fail" : "\(percent(failed, admitted)) of its requests fail"
    return StatusProblem(
      .destination, .bad, upstream.name,
      share + cause(failures, of: upstream) + failing(upstream) + circuit)
  }

  /// The common trait of the latest failures: ", mostly could_not_connect at 10.0.0.7:80".
  private static func cause(_ failures: [RecentRequest], of upstream: StatusReport.Upstream) -> String {
    guard let (reason, count) = most(failures.map(reason)) else { return "" }
    var text = count == failures.count ? ", all with \(reason)" : ", mostly with \(reason)"
    let same = failures.filter { Self.reason($0) == reason }
    if upstream.endpoints.count > 1, let (endpoint, count) = most(same.compactMap(\.endpoint)),
      count * 10 >= same.count * 9
    {
      text += " from \(endpoint)"
    }
    return text
  }

  private static func reason(_ request: RecentRequest) -> String {
    let isCut = (200..<400).contains(request.status)
    if !request.error.isEmpty { return words(request.error) + (isCut ? " in the middle of a response" : "") }
    return request.status > 0 ? "status \(request.status)" : words(request.outcome)
  }

  private static func control(_ upstream: StatusReport.Upstream, _ window: StatusReport.Window) -> StatusProblem? {
    if upstream.isInUse, upstream.loadControl == "silent" {
      return StatusProblem(
        .destination, .bad, upstream.name,
        "does not answer any more: single requests find out when it does, all others are refused at once")
    }
    let shed = window.shedByLoadControl
    guard shed * 20 > window.requests, shed >= leastRequests else { return nil }
    let limit = upstream.limit.map { ", of which \($0) are allowed at once" } ?? ""
    return StatusProblem(
      .destination, shed * 10 > window.requests * 3 ? .bad : .warning, upstream.name,
      "is overloaded: load control refuses \(percent(shed, window.requests)) of its requests\(limit)")
  }

  /// A pause that the upstream has asked for, or requests that wait for their turns in vain.
  private static func pace(_ upstream: StatusReport.Upstream, _ window: StatusReport.Window) -> StatusProblem? {
    let areMany = window.paced * 20 > window.requests && window.paced >= leastRequests
    let refused = "\(percent(window.paced, window.requests)) of its requests are refused"
    guard let left = upstream.pausedFor else {
      guard areMany else { return nil }
      return StatusProblem(
        .destination, window.paced * 10 > window.requests * 3 ? .bad : .warning, upstream.name,
        "gets more requests than its pace allows: \(refused)")
    }
    let seconds = Int(clamping: Int64(left.rounded(.up)))
    return StatusProblem(
      .destination, areMany && window.paced * 2 > window.requests ? .bad : .warning, upstream.name,
      "has asked for a pause: \(seconds) s \(seconds == 1 ? "is" : "are") left\(areMany ? "; \(refused)" : "")")
  }

  private static func limited(_ upstream: StatusReport.Upstream, _ window: StatusReport.Window) -> StatusProblem? {
    guard upstream.pausedFor == nil, window.limited >= leastRequests, window.limited * 10 > window.attempts else {
      return nil
    }
    let advice = upstream.hasPace ? "" : "; `pace` would hold them back"
    return StatusProblem(
      .destination, window.limited * 10 > window.attempts * 9 ? .bad : .warning, upstream.name,
      "answers \(percent(window.limited, window.attempts)) of attempts with 429: it allows fewer requests than there are"
        + advice
    )
  }

  private static func storm(
    _ upstream: StatusReport.Upstream, _ window: StatusReport.Window, _ failures: [RecentRequest]
  ) -> StatusProblem? {
    // An upstream that answers 429 says so itself.
    guard let demand = window.retryDemand, demand > 0.2, window.requests >= leastRequests,
      window.limited * 2 <= window.attempts
    else { return nil }
    var text = "\(percent(demand)) of requests want a retry"
    if let first = window.retries.first {
      let all = window.retries.reduce(0) { $0 + $1.count }
      text += ", \(first.count == all ? "all" : "most") for \(words(first.name))"
      let failed = upstream.endpoints.reduce(0) { $0 + $1.failures10s }
      if upstream.endpoints.count > 1, let worst = upstream.endpoints.max(by: { $0.failures10s < $1.failures10s }),
        worst.failures10s * 10 >= failed * 9, failed > 0
      {
        text += " from \(worst.address)"
      }
    }
    let perRequest = Double(window.attempts) / Double(window.requests)
    if window.denied > 0 {
      text += "; the budget holds attempts at \(decimal(perRequest)) per request"
    } else {
      text += "; there are \(decimal(perRequest)) attempts per request"
    }
    return StatusProblem(.storm, .bad, upstream.name, text)
  }

  private static func abandoned(_ upstream: StatusReport.Upstream, _ window: StatusReport.Window) -> StatusProblem? {
    guard window.abandoned >= leastRequests, window.abandoned * 10 > window.requests else { return nil }
    return StatusProblem(
      .destination, window.abandoned * 2 > window.requests ? .bad : .warning, upstream.name,
      "\(percent(window.abandoned, window.requests)) of callers leave before their answer; "
        + "half of the requests take longer than \(duration(window.p50 ?? 0))")
  }

  /// Much slower than over the minutes before, and slow for people. Requests that wait for their turns by a pace are long under
  /// way at a fast upstream too.
  private static func slow(_ upstream: StatusReport.Upstream, _ window: StatusReport.Window) -> StatusProblem? {
    guard window.requests >= leastRequests, let p50 = window.p50, let p99 = window.p99, p99 > 1,
      p99 > 3 * usual(upstream.traffic) || p50 > 1, !upstream.hasPace || window.phases.contains(where: { $0.p99 > 1 })
    else { return nil }
    var text =
      "is slow: half of its requests take longer than \(duration(p50)), one in a hundred longer than \(duration(p99))"
    if let phase = window.phases.max(by: { $0.p99 < $1.p99 }), phase.p99 * 2 > p99 {
      text += ", most of it \(words(phase: phase.name))"
    }
    text += slowest(upstream.operations, p99)
    return StatusProblem(.destination, p50 > 1 ? .bad : .warning, upstream.name, text)
  }

  /// The slowest of several operations, if it is what makes the upstream slow.
  private static func slowest(_ operations: [StatusReport.Operation], _ p99: Double) -> String {
    let judged = operations.filter { $0.isJudged && $0.name != DestinationIndex.sharedName }
    guard judged.count > 1, let first = judged[0].last10s.p99, first > 2 * (judged[1].last10s.p99 ?? 0), first * 2 > p99
    else { return "" }
    return "; the slowest of its \(judged.count) operations is \(judged[0].name)"
  }

  /// The operation that nearly all failed attempts are of, if there are several.
  private static func failing(_ upstream: StatusReport.Upstream) -> String {
    guard upstream.operations.count > 1,
      let worst = upstream.operations.max(by: { $0.last10s.failed < $1.last10s.failed }),
      worst.name != DestinationIndex.sharedName, worst.last10s.failed * 10 > upstream.failedAttempts10s * 9
    else { return "" }
    return "; they are of \(worst.name)"
  }

  /// The median of the buckets' 99th percentiles of the last five minutes, without those of the last 15 seconds; 0 if
  /// there are none.
  private static func usual(_ traffic: StatusReport.Traffic) -> Double {
    let times = traffic.history.p99.dropLast(3).compactMap(\.self).sorted()
    return times.isEmpty ? 0 : times[times.count / 2]
  }

  private static func endpoints(_ upstream: StatusReport.Upstream, _ report: StatusReport) -> StatusProblem? {
    let out = upstream.endpoints.filter { $0.state == "ejected" || $0.state == "unhealthy" }
    if out.isEmpty { return nil }
    let names = out.prefix(3).map(\.address).joined(separator: ", ") + (out.count > 3 ? " and others" : "")
    // A check has its own reasons, and an old failure is none.
    let failures = out.filter { $0.state == "ejected" }.compactMap(\.lastFailure)
    let last = failures.filter { report.now - $0.time <= 300 }.max { $0.time < $1.time }
    let why = last.map { "; the last failure was \(Self.reason($0))" } ?? ""
    let all = upstream.endpoints.count
    return StatusProblem(
      .endpoint, out.count * 3 >= all ? .bad : .warning, upstream.name,
      "\(out.count) of \(all) endpoints \(out.count == 1 ? "is" : "are") out: \(names)\(why)")
  }

  // MARK: Routes

  /// A route that fails by itself: no upstream is to blame.
  private static func problem(of route: StatusReport.Route, _ others: [StatusProblem]) -> StatusProblem? {
    let window = route.traffic.last10s
    let told = others.contains { $0.kind == .destination && $0.severity == .bad && $0.subject == route.upstream }
    // The credential has a sentence of its own.
    if window.outcomes.first?.name == "adaptation_failed" { return nil }
    let missing = window.count(of: ["no_endpoint"])
    if missing > 0 {
      let subject = route.upstream.isEmpty ? route.name : route.upstream
      let text = "has no endpoint: \(missing) requests of the route \(route.name) were answered 503"
      return StatusProblem(.endpoint, .bad, subject, text)
    }
    guard window.requests >= leastRequests, window.failed * 2 > window.requests, !told else { return nil }
    let reason = window.outcomes.first.map { ", mostly \(words($0.name))" } ?? ""
    let text = "\(percent(window.failed, window.requests)) of the route's requests fail\(reason)"
    return StatusProblem(.destination, .bad, route.name, text)
  }

  // MARK: The program

  private static func others(_ report: StatusReport, _ facts: StatusFacts) -> [StatusProblem] {
    var problems: [StatusProblem] = []
    func note(_ kind: StatusProblem.Kind, _ severity: StatusProblem.Severity, _ subject: String, _ text: String) {
      problems.append(StatusProblem(kind, severity, subject, text))
    }
    for (upstream, age) in facts.failedDiscoveries {
      let since = age.map { "the last good answer is \(duration($0)) old" } ?? "there was no good answer yet"
      note(.discovery, .bad, upstream, "its endpoints can't be looked up; \(since)")
    }
    for credential in report.credentials {
      guard let failure = credential.failure else { continue }
      switch credential.state {
      case "missing": note(.credential, .bad, credential.name, "there is no token: \(failure); requests get 503")
      case "failing":
        let left = credential.expiresIn.map { "; the present one is good for \(duration($0))" } ?? ""
        note(.credential, .warning, credential.name, "the next token can't be fetched: \(failure)\(left)")
      default: note(.credential, .warning, credential.name, failure)
      }
    }
    for (key, problem) in facts.secretFiles {
      note(.secret, .warning, key, "the file \(problem); what was read before stays in force")
    }
    for (route, refused) in facts.limited where refused > 0 {
      note(.limit, .warning, route, "a limit of the route refused \(refused) requests in ten seconds")
    }
    for (listener, name, notAfter) in facts.certificates where notAfter - report.now < 14 * 86400 {
      let left = notAfter - report.now
      let when = left < 0 ? "ended \(duration(-left)) ago" : "ends in \(duration(left))"
      note(.certificate, left < 2 * 86400 ? .bad : .warning, listener, "the certificate of \(name) \(when)")
    }
    if let configuration = report.configuration, !configuration.isSuccessful {
      let age = duration(report.now - configuration.loaded)
      note(
        .configuration, .bad, configuration.file ?? "",
        "the last reload was refused: the configuration is that of \(age) ago; the log has the reasons")
    }
    if let worst = facts.lags.first, worst.seconds > 0.1 {
      let lag = duration(worst.seconds)
      note(.lag, .bad, worst.loop, "an event loop is busy: one turn in a hundred comes \(lag) late")
    }
    if let (open, most) = facts.descriptors, most > 0, open * 10 > most * 9 {
      note(.descriptors, .bad, "", "\(open) of \(most) file descriptors are in use: new connections will wait")
    }
    if facts.droppedLines > 0 {
      note(.log, .warning, "", "\(facts.droppedLines) lines of the access log were dropped in ten seconds")
    }
    return problems
  }
}

/// The facts beside traffic by which problems are judged.
package struct StatusFacts: Sendable {
  /// The 99th percentile of the lag of loops in the last ten seconds, by the loop's name; the worst first.
  package var lags: [(loop: String, seconds: Double)] = []
  /// Open descriptors and how many there may be.
  package var descriptors: (open: Int, most: Int)?
  /// Certificates that are shown to clients, and when they end, in seconds since 1970.
  package var certificates: [(listener: String, name: String, notAfter: Double)] = []
  /// Places that tell of endpoints and whose last answer was a failure, by upstream; with the seconds since the last
  /// good answer, nil if there was none.
  package var failedDiscoveries: [(upstream: String, age: Double?)] = []
  /// Files of secrets that can't be used now, by the path of their key in the configuration. A problem begins with the
  /// file's path: "/run/secrets/key is empty".
  package var secretFiles: [(key: String, problem: String)] = []
  /// Requests of routes that a limit of the gateway's own refused in the last ten seconds.
  package var limited: [(route: String, refused: Int)] = []
  /// Lines of the access log that were dropped in the last ten seconds.
  package var droppedLines = 0

  package init() {}
}

extension StatusReport.Upstream {
  /// Whether it was asked in the last minutes. Circuits and load control learn from requests alone: without them they stay
  /// as they were.
  var isInUse: Bool { traffic.last5m.requests > 0 || inFlight > 0 }
}

extension StatusReport.Window {
  /// Requests that load control refused.
  var shedByLoadControl: Int { shed - paced }

  fileprivate func count(of names: Set<String>) -> Int {
    outcomes.reduce(0) { $0 + (names.contains($1.name) ? $1.count : 0) }
  }
}

// MARK: Words

private func most(_ texts: [String]) -> (String, Int)? {
  let counts = Dictionary(texts.map { ($0, 1) }, uniquingKeysWith: +)
  return counts.max { $0.value != $1.value ? $0.value < $1.value : $0.key > $1.key }.map { ($0.key, $0.value) }
}

private func percent(_ part: Int, _ whole: Int) -> String { percent(Double(part) / Double(max(1, whole))) }

/// `31 %`, with a no-break space.
private func percent(_ part: Double) -> String { "\(Int((part * 100).rounded()))\u{A0}%" }

private func decimal(_ value: Double) -> String {
  let tenths = Int((value * 10).rounded())
  return "\(tenths / 10).\(tenths % 10)"
}

private func duration(_ seconds: Double) -> String { QuantityText.duration(max(0, seconds)) }

/// A label's value as words: `connection_refused` is `connection refused`.
private func words(_ label: String) -> String {
  if let status = Int(label), (100...599).contains(status) { return "status \(status)" }
  return String(label.map { $0 == "_" ? " " : $0 })
}

private func words(phase: String) -> String {
  switch phase {
  case "queue": "in the queue for a slot"
  case "resolve": "in name lookups"
  case "connect": "in connecting"
  case "tunnel": "in waiting for a proxy's tunnel"
  case "tls": "in TLS handshakes"
  case "send": "in sending"
  case "processing": "in waiting for the first byte"
  case "transfer": "in receiving the body"
  default: "in \(phase)"
  }
}
