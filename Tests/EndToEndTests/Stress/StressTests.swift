import Foundation
import Synchronization
import Testing
import Weir
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// Random verbs, sessions that end in every way, full queues and upstreams that fail: nothing is lost or counted twice.
///
/// `WEIR_STRESS_REQUESTS` says how many requests there are in each test; a few thousand without it.
@Suite("Stress", .timeLimit(.minutes(20)))
struct StressTests {
  private static let count = ProcessInfo.processInfo.environment["WEIR_STRESS_REQUESTS"].flatMap { Int($0) } ?? 4_000

  @Test("Every handler is called once, every page adds up, no descriptor stays open")
  func verbs() async throws {
    let descriptors = try ThisProcess.openDescriptors
    let registry = Registry()
    let scrapes = Scrapes(registry)
    let calls = Calls(Self.count)
    do {
      let upstream = try ScriptedServer(.failing(seed: 1))
      let hole = try BlackHole()
      let monitor = try MetricsMonitor(registry: registry)
      var crowd = Crowd(urls: [upstream.url, upstream.url, upstream.url, hole.url, "http://127.0.0.1:1/"], monitor)
      for number in 0..<Self.count {
        crowd.send(number, calls)
        if number % 32 == 0 { try await eventually("the crowd is small again") { calls.pending < 256 } }
      }
      crowd.leave()
      try await eventually("all have their responses", within: 120) { calls.pending == 0 }
    }
    let counted = scrapes.stop()
    #expect(counted.pages > 10)
    #expect(counted.wrong.isEmpty, "\(counted.wrong.prefix(3))")
    #expect(calls.wrong.isEmpty, "called another number of times than once: \(calls.wrong.prefix(10))")
    let page = ExpositionText(registry.text())
    #expect(page.sum("weir_requests_in_flight") == 0)
    #expect(page.sum("weir_requests_started_total") == page.sum("weir_requests_total"))
    #expect(page.sum("http_client_active_requests") == 0)
    try await eventually("its descriptors are closed") { try ThisProcess.openDescriptors <= descriptors + 2 }
  }

  @Test("What the gateway counts is what its clients saw", .needs(.weir))
  func gateway() async throws {
    let upstream = try ScriptedServer(.failing(seed: 2))
    let folder = try TemporaryDirectory()
    let file = try folder.file(
      "weir.yml",
      """
      routes:
        - name: mixed
          match: { pathPrefix: / }
          upstream: http://127.0.0.1:\(upstream.port)
          retry: { limit: 1, statusCodes: [503], methods: [GET] }
      """)
    let weir = try await WeirProgram(["--config.file=\(file)", "--log.level=error"])
    let session = Session()
    let seen = Statuses()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<Self.count {
        if number >= 32 { await group.next() }
        group.addTask {
          let method: HTTPMethod = number % 3 == 0 ? .post : .get
          let response = await session.request(weir.url("/\(number)"), method: method).serializingData().response
          seen.add(response.statusCode ?? 0)
        }
      }
    }
    let statuses = seen.counts
    #expect(statuses[0] == nil, "requests that got no response: \(statuses)")
    #expect(statuses.values.reduce(0, +) == Self.count)
    #expect(statuses.keys.count > 2, "the upstream did fail: \(statuses)")
    try await eventually("the gateway has counted them all") {
      let page = ExpositionText(try await CurlAnswer.get(weir.metricsURL("/metrics")).body)
      return page.sum("weir_gateway_requests_total") == Double(Self.count)
    }
    let page = ExpositionText(try await CurlAnswer.get(weir.metricsURL("/metrics")).body)
    for (status, count) in statuses {
      let counted = page.sum(
        "http_server_request_duration_seconds_count", ["http_response_status_code": String(status)])
      #expect(counted == Double(count), "status \(status)")
    }
    #expect(page.sum("weir_gateway_requests_total", ["outcome": "success"]) == Double(statuses[200] ?? 0))
    #expect(page.sum("weir_requests_started_total") == page.sum("weir_requests_total"))
    #expect(page.sum("weir_requests_in_flight") == 0)
  }
}

extension Script {
  /// Mostly answers; at times an error status, no HTTP, half a response, or the end of the connection.
  fileprivate static func failing(seed: UInt64) -> Script {
    let random = Mutex(SeededRandom(seed: seed))
    return answering {
      switch random.withLock({ Int.random(in: 0..<20, using: &$0) }) {
      case 0: nil
      case 1: "no HTTP at all\r\n\r\n"
      case 2, 3: "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
      case 4: "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
      case 5: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nZ\r\n"
      default: okResponse("x")
      }
    }
  }
}

/// How many responses of each status came.
private final class Statuses: Sendable {
  private let state = Mutex<[Int: Int]>([:])

  func add(_ status: Int) { state.withLock { $0[status, default: 0] += 1 } }

  var counts: [Int: Int] { state.withLock { $0 } }
}

/// How often each handler was called.
private final class Calls: Sendable {
  private struct State {
    var expected: [UInt8]
    var counts: [UInt8]
    var pending = 0
  }

  private let state: Mutex<State>

  init(_ count: Int) {
    state = Mutex(State(expected: Array(repeating: 0, count: count), counts: Array(repeating: 0, count: count)))
  }

  /// One more handler of a request, to be called once.
  func expect(_ number: Int) {
    state.withLock { state in
      state.expected[number] += 1
      state.pending += 1
    }
  }

  func called(_ number: Int) {
    state.withLock { state in
      state.counts[number] += 1
      state.pending -= 1
    }
  }

  var pending: Int { state.withLock { $0.pending } }

  var wrong: [Int] {
    state.withLock { state in state.counts.indices.filter { state.counts[$0] != state.expected[$0] } }
  }
}

/// Sends requests by one session after another, and interferes with them.
private struct Crowd {
  private let urls: [String]
  private let monitor: MetricsMonitor
  private var random = SeededRandom(seed: 3)
  private var session: Session
  private let interference = DispatchQueue(label: "weir.stress", attributes: .concurrent)

  init(urls: [String], _ monitor: MetricsMonitor) {
    self.urls = urls
    self.monitor = monitor
    session = Self.session(monitor)
  }

  private static func session(_ monitor: MetricsMonitor) -> Session {
    var configuration = SessionConfiguration()
    configuration.timeoutIntervalForResource = 0.3
    configuration.httpMaximumConnectionsPerHost = 8
    configuration.maximumPendingRequestsPerHost = 24
    configuration.admissionTimeout = 0.1
    let policy = RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0.002)
    return Session(configuration: configuration, interceptor: policy, eventMonitors: [monitor])
  }

  mutating func send(_ number: Int, _ calls: Calls) {
    if number % 400 == 399 { renew() }
    let request = session.request(urls[Int.random(in: 0..<urls.count, using: &random)]).validate()
    for _ in 0...Int.random(in: 0..<2, using: &random) {
      calls.expect(number)
      request.responseString { _ in calls.called(number) }
    }
    interfere(with: request, after: .microseconds(Int.random(in: 0..<3_000, using: &random)), number, calls)
  }

  func leave() {
    session.finishRequestsAndInvalidate()
  }

  private mutating func interfere(
    with request: DataRequest, after delay: DispatchTimeInterval, _ number: Int, _ calls: Calls
  ) {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: request.cancel()
    case 1: interference.asyncAfter(deadline: .now() + delay) { request.cancel() }
    case 2:
      request.suspend()
      interference.asyncAfter(deadline: .now() + delay) { request.resume() }
    case 3:
      interference.asyncAfter(deadline: .now() + delay) {
        request.suspend()
        request.resume()
      }
    case 4:
      calls.expect(number)
      interference.asyncAfter(deadline: .now() + delay) { request.response { _ in calls.called(number) } }
    case 5: interference.asyncAfter(deadline: .now() + delay) { request.task?.cancel() }
    default: break
    }
  }

  private mutating func renew() {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: session.finishRequestsAndInvalidate()
    case 1: session.invalidateAndCancel()
    case 2: session.cancelAllRequests()
    default: break
    }
    session = Self.session(monitor)
  }
}

/// Reads pages all the time, and adds each of them up.
private final class Scrapes: Sendable {
  private struct State {
    var isStopped = false
    var pages = 0
    var wrong: [String] = []
  }

  private let state = Mutex(State())
  private let done = DispatchGroup()

  init(_ registry: Registry) {
    done.enter()
    Thread.detachNewThread { [self] in
      while !state.withLock({ $0.isStopped }) { check(ExpositionText(registry.text())) }
      done.leave()
    }
  }

  func stop() -> (pages: Int, wrong: [String]) {
    state.withLock { $0.isStopped = true }
    done.wait()
    return state.withLock { ($0.pages, $0.wrong) }
  }

  private func check(_ page: ExpositionText) {
    let started = page.sum("weir_requests_started_total")
    let settled = page.sum("weir_requests_total")
    let inFlight = page.sum("weir_requests_in_flight")
    state.withLock { state in
      state.pages += 1
      guard started != settled + inFlight else { return }
      state.wrong.append("\(started) started, \(settled) settled, \(inFlight) in flight")
    }
    letPass(0.002)
  }
}
