import Testing

@testable import WeirExporter

/// Sentences about what is wrong, and silence about what is not.
@Suite struct StatusProblemsTests {
  private static func report(_ upstream: StatusReport.Upstream? = nil) -> StatusReport {
    var report = StatusReport(title: "weir", version: "1", started: 0, now: 1000)
    if let upstream { report.upstreams = [upstream] }
    return report
  }

  private static func upstream(
    _ requests: Int, _ change: (inout StatusReport.Upstream) -> Void = { _ in }
  ) -> StatusReport.Upstream {
    var upstream = StatusReport.Upstream(name: "payments", traffic: StatusReport.Traffic())
    upstream.traffic.last10s.requests = requests
    upstream.traffic.last5m.requests = requests
    upstream.traffic.last10s.attempts = requests
    upstream.traffic.last10s.p50 = 0.01
    upstream.traffic.last10s.p99 = 0.05
    upstream.traffic.last10s.retryDemand = 0
    change(&upstream)
    return upstream
  }

  private static func failure(_ error: String = "", status: Int = 0, at endpoint: String? = nil) -> RecentRequest {
    var request = RecentRequest(time: 995)
    request.upstream = "payments"
    request.error = error
    request.status = status
    request.endpoint = endpoint
    return request
  }

  private static func endpoint(
    _ address: String, _ state: String = "available", failures: Int = 0
  ) -> StatusReport.Endpoint {
    StatusReport.Endpoint(address: address, state: state, inFlight: 0, failures10s: failures)
  }

  private func texts(_ report: StatusReport, _ facts: StatusFacts = StatusFacts()) -> [String] {
    StatusProblems.of(report, facts).map { "\($0.kind.rawValue) \($0.severity.rawValue) \($0.subject): \($0.text)" }
  }

  @Test func healthyTrafficHasNone() {
    var report = Self.report(
      Self.upstream(1000) {
        $0.circuit = "closed"
        $0.loadControl = "normal"
        $0.traffic.last10s.failed = 10
        $0.traffic.last10s.retryDemand = 0.02
        $0.endpoints = [Self.endpoint("10.0.0.7:80"), Self.endpoint("10.0.0.8:80", "slow_start")]
      })
    report.configuration = .init(file: "weir.yml", loaded: 10, isSuccessful: true)
    report.routes = [StatusReport.Route(name: "a", upstream: "payments", traffic: report.upstreams[0].traffic)]
    var facts = StatusFacts()
    facts.descriptors = (100, 1024)
    facts.lags = [("gateway.0", 0.01)]
    facts.certificates = [("public", "a.example", 1000 + 30 * 86400)]
    facts.limited = [("a", 0)]
    #expect(texts(report, facts).isEmpty)
    #expect(texts(Self.report()).isEmpty)
  }

  @Test func fewRequestsShowNoPattern() {
    let report = Self.report(
      Self.upstream(4) {
        $0.traffic.last10s.failed = 4
        $0.traffic.last10s.limited = 4
        $0.traffic.last10s.retryDemand = 1
      })
    #expect(texts(report).isEmpty)
  }

  @Test func aDestinationIsDown() {
    var report = Self.report(
      Self.upstream(10) {
        $0.traffic.last10s.failed = 10
        $0.circuit = "open"
      })
    report.failures = [Self.failure("cannot_connect_to_host"), Self.failure("cannot_connect_to_host")]
    #expect(
      texts(report) == [
        "destination bad payments: all of its requests fail, all with cannot connect to host; its circuit is open"
      ])
    report.upstreams[0].traffic.last10s.failed = 6
    report.failures.append(Self.failure(status: 503))
    #expect(
      texts(report) == [
        "destination bad payments: 60\u{A0}% of its requests fail, mostly with cannot connect to host; its circuit is open"
      ])
    // Others' failures, and old ones, tell nothing.
    for index in report.failures.indices { report.failures[index].upstream = "other" }
    report.upstreams[0].circuit = nil
    #expect(texts(report) == ["destination bad payments: 60\u{A0}% of its requests fail"])
  }

  @Test func aCircuitIsOpenAfterTraffic() {
    var report = Self.report(
      Self.upstream(0) {
        $0.circuit = "half_open"
        $0.traffic.last5m.requests = 1
      })
    #expect(
      texts(report) == [
        "destination bad payments: was cut off after failures; its circuit lets some requests through"
      ])
    // No one asks it any more, so that the circuit stays as it was.
    report.upstreams[0].traffic.last5m.requests = 0
    report.upstreams[0].loadControl = "silent"
    #expect(texts(report).isEmpty)
  }

  @Test func aDestinationIsSlow() {
    let slow = Self.upstream(100) {
      $0.traffic.last10s.p50 = 1.5
      $0.traffic.last10s.p99 = 4
      $0.traffic.last10s.phases = [
        StatusReport.Phase(name: "connect", p50: 0.001, p99: 0.002),
        StatusReport.Phase(name: "processing", p50: 1.4, p99: 3.9),
      ]
    }
    #expect(
      texts(Self.report(slow)) == [
        "destination bad payments: is slow: half of its requests take longer than 1.5 s, one in a hundred longer than "
          + "4 s, most of it in waiting for the first byte"
      ])
    // A destination that always takes so long is as it always is.
    var usual = slow
    usual.traffic.last10s.p50 = 0.9
    usual.traffic.history.p99 = Array(repeating: 3.5, count: StatusReport.History.count)
    #expect(texts(Self.report(usual)).isEmpty)
  }

  private static func operation(_ name: String, _ requests: Int, p99: Double, failed: Int = 0) -> StatusReport.Operation
  {
    var window = StatusReport.Upstream(name: "", traffic: StatusReport.Traffic()).traffic.last10s
    (window.requests, window.p99) = (requests, p99)
    window.failed = failed
    return StatusReport.Operation(name: name, last10s: window, last5m: window)
  }

  @Test func theOperationThatIsInTroubleIsNamed() {
    var slow = Self.upstream(100) {
      $0.traffic.last10s.p50 = 1.5
      $0.traffic.last10s.p99 = 4
      $0.operations = [
        Self.operation("once", 1, p99: 9), Self.operation("GET /reports", 60, p99: 4),
        Self.operation("GET /a", 20, p99: 0.1),
        Self.operation("GET /b", 20, p99: 0.2),
      ]
    }
    let sentence =
      "destination bad payments: is slow: half of its requests take longer than 1.5 s, one in a hundred longer than 4 s"
    #expect(texts(Self.report(slow)) == [sentence + "; the slowest of its 3 operations is GET /reports"])
    // No one of them stands out.
    slow.operations[2] = Self.operation("GET /a", 20, p99: 3)
    #expect(texts(Self.report(slow)) == [sentence])
    // Requests without a name are the slow ones, or those of operations beyond the limit.
    for (name, p99) in [("GET /reports", 1.9), ("_other", 4)] {
      slow.operations = [Self.operation(name, 60, p99: p99), Self.operation("a", 20, p99: 0.1)]
      slow.operations += [Self.operation("b", 20, p99: 0.1)]
      #expect(texts(Self.report(slow)) == [sentence] || p99 == 4)
      #expect(!texts(Self.report(slow)).joined().contains(name))
    }
    var failing = Self.upstream(100) {
      $0.traffic.last10s.failed = 60
      $0.failedAttempts10s = 60
      $0.operations = [
        Self.operation("GET /a", 40, p99: 1, failed: 1), Self.operation("POST /b", 60, p99: 1, failed: 59),
      ]
    }
    #expect(
      texts(Self.report(failing)) == ["destination bad payments: 60\u{A0}% of its requests fail; they are of POST /b"])
    failing.failedAttempts10s = 70
    #expect(texts(Self.report(failing)) == ["destination bad payments: 60\u{A0}% of its requests fail"])
  }

  @Test func waitsForTurnsAreNoSlowness() {
    func paced(_ processing: Double) -> StatusReport {
      Self.report(
        Self.upstream(100) {
          $0.hasPace = true
          $0.traffic.last10s.p50 = 1.5
          $0.traffic.last10s.p99 = 2
          $0.traffic.last10s.phases = [StatusReport.Phase(name: "processing", p50: 0.05, p99: processing)]
        })
    }
    #expect(texts(paced(0.1)).isEmpty)
    #expect(texts(paced(1.2)).first?.hasSuffix("most of it in waiting for the first byte") == true)
  }

  @Test func loadControlRefuses() {
    let report = Self.report(
      Self.upstream(100) {
        $0.traffic.last10s.shed = 40
        $0.traffic.last10s.failed = 40
        $0.limit = 12
        $0.loadControl = "overloaded"
      })
    #expect(
      texts(report) == [
        "destination bad payments: is overloaded: load control refuses 40\u{A0}% of its requests, of which 12 are allowed at once"
      ])
    let silent = Self.report(Self.upstream(100) { $0.loadControl = "silent" })
    #expect(texts(silent).first?.hasPrefix("destination bad payments: does not answer any more") == true)
  }

  @Test func aStormNamesItsReasonAndEndpoint() {
    let report = Self.report(
      Self.upstream(100) {
        $0.traffic.last10s.attempts = 120
        $0.traffic.last10s.retryDemand = 0.31
        $0.traffic.last10s.retries = [StatusReport.Named(name: "503", count: 20)]
        $0.traffic.last10s.denied = 11
        $0.endpoints = [Self.endpoint("10.0.0.7:80", failures: 31), Self.endpoint("10.0.0.8:80")]
      })
    #expect(
      texts(report) == [
        "storm bad payments: 31\u{A0}% of requests want a retry, all for status 503 from 10.0.0.7:80; "
          + "the budget holds attempts at 1.2 per request"
      ])
  }

  @Test func limitedAttemptsAreNoStorm() {
    let report = Self.report(
      Self.upstream(100) {
        $0.traffic.last10s.attempts = 150
        $0.traffic.last10s.limited = 140
        $0.traffic.last10s.retryDemand = 0.5
        $0.traffic.last10s.retries = [StatusReport.Named(name: "429", count: 50)]
      })
    #expect(
      texts(report) == [
        "destination bad payments: answers 93\u{A0}% of attempts with 429: it allows fewer requests than there are; "
          + "`pace` would hold them back"
      ])
  }

  @Test func aPauseTakesThePlaceOf429AndOfAnOverload() {
    func paused(_ left: Double?, requests: Int = 100, refused: Int, shed: Int = 0) -> StatusReport {
      Self.report(
        Self.upstream(requests) {
          $0.hasPace = true
          $0.pausedFor = left
          $0.traffic.last10s.attempts = 40
          $0.traffic.last10s.limited = 20
          $0.traffic.last10s.paced = refused
          $0.traffic.last10s.shed = refused + shed
          $0.traffic.last10s.failed = refused + shed
        })
    }
    #expect(
      texts(paused(41.2, refused: 0)) == ["destination warning payments: has asked for a pause: 42 s are left"])
    #expect(
      texts(paused(0.4, refused: 50)) == [
        "destination warning payments: has asked for a pause: 1 s is left; 50\u{A0}% of its requests are refused"
      ])
    #expect(
      texts(paused(3, refused: 51)) == [
        "destination bad payments: has asked for a pause: 3 s are left; 51\u{A0}% of its requests are refused"
      ])
    #expect(
      texts(paused(3, requests: 2, refused: 2)) == [
        "destination warning payments: has asked for a pause: 3 s are left"
      ], "two requests show no pattern")
    #expect(
      texts(paused(nil, refused: 10)) == [
        "destination warning payments: gets more requests than its pace allows: 10\u{A0}% of its requests are refused",
        "destination warning payments: answers 50\u{A0}% of attempts with 429: it allows fewer requests than there are",
      ])
    #expect(
      texts(paused(3, refused: 0, shed: 40)) == [
        "destination bad payments: is overloaded: load control refuses 40\u{A0}% of its requests",
        "destination warning payments: has asked for a pause: 3 s are left",
      ], "what load control refuses is told as before")
  }

  @Test func callersLeave() {
    let report = Self.report(
      Self.upstream(100) {
        $0.traffic.last10s.abandoned = 20
        $0.traffic.last10s.p50 = 0.4
      })
    #expect(
      texts(report) == [
        "destination warning payments: 20\u{A0}% of callers leave before their answer; half of the requests take longer "
          + "than 400 ms"
      ])
  }

  @Test func endpointsAreOut() {
    let report = Self.report(
      Self.upstream(100) {
        $0.endpoints = (1...4).map { Self.endpoint("10.0.0.\($0):80", $0 == 2 ? "ejected" : "available") }
        $0.endpoints[1].lastFailure = Self.failure("timed_out", at: "10.0.0.2:80")
      })
    #expect(
      texts(report) == [
        "endpoint warning payments: 1 of 4 endpoints is out: 10.0.0.2:80; the last failure was timed out"
      ])
  }

  @Test func routesThatFailByThemselvesAreNamed() {
    var report = Self.report()
    var route = StatusReport.Route(name: "checkout", upstream: "payments", traffic: StatusReport.Traffic())
    route.traffic.last10s.requests = 10
    route.traffic.last10s.failed = 9
    route.traffic.last10s.outcomes = [StatusReport.Named(name: "http_error", count: 9)]
    report.routes = [route]
    #expect(
      texts(report) == ["destination bad checkout: 90\u{A0}% of the route's requests fail, mostly http error"])
    // Not beside the upstream that is to blame.
    report.upstreams = [Self.upstream(10) { $0.traffic.last10s.failed = 9 }]
    #expect(texts(report) == ["destination bad payments: 90\u{A0}% of its requests fail"])
    report.upstreams = []
    report.routes[0].traffic.last10s.outcomes = [StatusReport.Named(name: "no_endpoint", count: 9)]
    #expect(
      texts(report) == [
        "endpoint bad payments: has no endpoint: 9 requests of the route checkout were answered 503"
      ])
  }

  @Test func credentialsThatCannotBeHad() {
    func credential(_ state: String, _ failure: String?, expiresIn: Double? = nil) -> StatusReport.Credential {
      StatusReport.Credential(name: "shop", state: state, expiresIn: expiresIn, failure: failure, waiting: 0)
    }
    var report = Self.report()
    // One that no request has used yet is missing too.
    report.credentials = [credential("good", nil, expiresIn: 3), credential("missing", nil)]
    #expect(texts(report).isEmpty)
    report.credentials = [
      credential("failing", "it answers 500", expiresIn: 41.7), credential("failing", "it answers 500"),
      credential("missing", "it answers 401: invalid_client"),
    ]
    #expect(
      texts(report) == [
        "credential bad shop: there is no token: it answers 401: invalid_client; requests get 503",
        "credential warning shop: the next token can't be fetched: it answers 500; the present one is good for 42 s",
        "credential warning shop: the next token can't be fetched: it answers 500",
      ])
  }

  @Test func theProgramItself() {
    var report = Self.report()
    report.configuration = .init(file: "weir.yml", loaded: 700, isSuccessful: false)
    var facts = StatusFacts()
    facts.lags = [("gateway.0", 0.25)]
    facts.descriptors = (1000, 1024)
    facts.certificates = [
      ("public", "a.example", 1000 + 86400), ("public", "b.example", 1000 + 10 * 86400), ("old", "c", 0),
    ]
    facts.failedDiscoveries = [("payments", 90), ("users", nil)]
    facts.secretFiles = [("credentials[0].oauth2.clientSecret", "/run/secrets/client is empty")]
    facts.limited = [("a", 3)]
    facts.droppedLines = 7
    #expect(
      texts(report, facts) == [
        "discovery bad payments: its endpoints can't be looked up; the last good answer is 90 s old",
        "discovery bad users: its endpoints can't be looked up; there was no good answer yet",
        "certificate bad public: the certificate of a.example ends in 24 h",
        "certificate bad old: the certificate of c ended 17 min ago",
        "configuration bad weir.yml: the last reload was refused: the configuration is that of 5 min ago; "
          + "the log has the reasons",
        "lag bad gateway.0: an event loop is busy: one turn in a hundred comes 250 ms late",
        "descriptors bad : 1000 of 1024 file descriptors are in use: new connections will wait",
        "secret warning credentials[0].oauth2.clientSecret: the file /run/secrets/client is empty; "
          + "what was read before stays in force",
        "limit warning a: a limit of the route refused 3 requests in ten seconds",
        "certificate warning public: the certificate of b.example ends in 10 days",
        "log warning : 7 lines of the access log were dropped in ten seconds",
      ])
  }
}
