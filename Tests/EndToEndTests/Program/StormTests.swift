import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// What the program as it is shipped makes of an outage behind it.
@Suite(
  .needs(.shippedWeir, .nginx, .wrk),
  .enabled(if: ProcessInfo.processInfo.environment["WEIR_PROGRAM"] != nil, "the program as it is shipped"))
struct StormTests {
  private static func gateway(before port: Int, budget: Bool = true) async throws -> WeirProgram {
    let directory = try TemporaryDirectory()
    let more = budget ? "" : ", budget: off"
    let config = try directory.file(
      "weir.yml",
      """
      routes:
        - name: all
          upstream: "http://127.0.0.1:\(port)"
          retry: {limit: 3, statusCodes: [503]\(more)}

      """)
    return try await WeirProgram(["--config.file=\(config)", "--log.level=error"], program: .shippedWeir)
  }

  // MARK: An upstream that fails everything

  /// Three gateways in a row, each of which would try four times: 64 attempts of one request without their budgets.
  @Test func layersDoNotMultiply() async throws {
    let origin = try await NginxServer(config: "location / { return 503; }")
    let third = try await Self.gateway(before: origin.port())
    let second = try await Self.gateway(before: third.port)
    let first = try await Self.gateway(before: second.port)
    let load = try Peer(.wrk, ["-t1", "-c64", "-d22s", first.url("/")])
    // The first window has a burst of its own, in each layer.
    try await letPass(11)
    let before = try await Self.counts(first, third)
    try await letPass(10)
    let after = try await Self.counts(first, third)
    #expect(try await load.waitForExit() == .exited(0))
    let requests = after.requests - before.requests
    let (one, three) = (after.firstAttempts - before.firstAttempts, after.thirdAttempts - before.thirdAttempts)
    #expect(requests > 1_000, "at least 100 per second: \(requests)")
    #expect(one / requests <= 1.25, "one layer: \(one / requests) attempts per request")
    #expect(three / requests <= 1.65, "three layers: \(three / requests) attempts per request")
    #expect(one / requests >= 1.1 && three / requests >= one / requests, "there are retries: \(one), \(three)")
  }

  private struct Counts {
    var requests = 0.0
    var firstAttempts = 0.0
    var thirdAttempts = 0.0
  }

  private static func counts(_ first: WeirProgram, _ third: WeirProgram) async throws -> Counts {
    let front = try await page(of: first), back = try await page(of: third)
    return Counts(
      requests: sum("weir_requests_started_total", front), firstAttempts: sum("weir_attempts_started_total", front),
      thirdAttempts: sum("weir_attempts_started_total", back))
  }

  private static func page(of weir: WeirProgram) async throws -> String {
    try await Session.default.request(weir.metricsURL("/metrics")).validate().serializingString().value
  }

  private static func sum(_ family: String, _ page: String) -> Double {
    page.split(separator: "\n").filter { $0.hasPrefix(family + "{") }
      .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
  }

  // MARK: A brown-out

  /// An upstream of limited capacity: for a while every second answer is 503, and each takes twice as long.
  private final class Origin: Sendable {
    private struct State {
      var isBrownedOut = false
      var served = 0
    }

    private let state = Mutex(State())
    private let permits = DispatchSemaphore(value: 8)

    var served: Int { state.withLock { $0.served } }

    func set(brownedOut: Bool) { state.withLock { $0.isBrownedOut = brownedOut } }

    /// Takes 40 ms, and eight at a time: 200 per second.
    func answer() -> String {
      permits.wait()
      defer { permits.signal() }
      let (isBrownedOut, number) = state.withLock { state in
        state.served += 1
        return (state.isBrownedOut, state.served)
      }
      letPass(isBrownedOut ? 0.08 : 0.04)
      let fails = isBrownedOut && number % 2 == 0
      return "HTTP/1.1 \(fails ? "503 Busy" : "200 OK")\r\nContent-Length: 0\r\n\r\n"
    }
  }

  private final class Tally: Sendable {
    let counts = Mutex((sent: [Int](repeating: 0, count: end), good: [Int](repeating: 0, count: end)))
  }

  private struct Run {
    /// Of the requests sent in each second from the recovery on: how many there were, and how many were answered 200.
    var sent: [Int]
    var good: [Int]
    /// Attempts per request during the brown-out.
    var amplification: Double
  }

  private static let rate = 40
  private static let (brownOut, recovery, end) = (3, 11, 19)

  /// Requests come at their rate whatever becomes of those before them.
  private static func run(budget: Bool) async throws -> Run {
    let origin = Origin()
    let server = try ScriptedServer(Script(.forever([.request, .answer { origin.answer() }])))
    let weir = try await gateway(before: server.port, budget: budget)
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = 2_000
    configuration.timeoutIntervalForResource = 4
    configuration.retryBudget = nil
    let session = Session(configuration: configuration)
    let tally = Tally()
    let start = ContinuousClock.now
    var served = (0, 0)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<(end * rate) {
        let second = number / rate
        if number == brownOut * rate {
          origin.set(brownedOut: true)
          served.0 = origin.served
        }
        if number == recovery * rate {
          origin.set(brownedOut: false)
          served.1 = origin.served
        }
        tally.counts.withLock { $0.sent[second] += 1 }
        group.addTask {
          let response = await session.request(weir.url("/")).serializingData().response.response
          if response?.statusCode == 200 { tally.counts.withLock { $0.good[second] += 1 } }
        }
        try? await Task.sleep(until: start + .seconds(1) * number / rate)
      }
    }
    let (sent, good) = tally.counts.withLock { $0 }
    return Run(
      sent: Array(sent[recovery...]), good: Array(good[recovery...]),
      amplification: Double(served.1 - served.0) / Double((recovery - brownOut) * rate))
  }

  @Test func goodputIsBackSoonAfterABrownOut() async throws {
    async let budgeted = Self.run(budget: true)
    async let unbudgeted = Self.run(budget: false)
    let (with, without) = try await (budgeted, unbudgeted)
    let told: Comment = "with the budget \(with), without \(without)"
    for second in 5..<8 { #expect(with.good[second] >= with.sent[second] * 9 / 10, told) }
    #expect(with.amplification < without.amplification, told)
    print(told)
  }
}
