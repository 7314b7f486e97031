import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

@Suite("Gradual circuit", .timeLimit(.minutes(5))) struct CircuitTests {
  /// A circuit and the time.
  private struct Line {
    let settings: CircuitBreaker
    var circuit = Circuit(at: Self.time(0))
    var now = 0.0

    static func time(_ seconds: Double) -> MonotonicTime {
      MonotonicTime(nanoseconds: 1_000_000_000_000 + Int64(seconds * 1e9))
    }

    init(_ settings: CircuitBreaker = CircuitBreaker()) { self.settings = settings }

    /// Asks for a pass; nil when rejected.
    mutating func ask() -> Circuit.Pass? { circuit.ask(at: Self.time(now)) }

    mutating func end(_ pass: Circuit.Pass, _ ending: Circuit.Ending) {
      circuit.ended(pass, ending, settings, at: Self.time(now))
    }

    /// Sends `count` requests at one time. Those that are let through end alike; returns their number.
    @discardableResult
    mutating func requests(_ count: Int, _ ending: Circuit.Ending) -> Int {
      var through = 0
      for _ in 0..<count {
        guard let pass = ask() else { continue }
        through += 1
        end(pass, ending)
      }
      return through
    }
  }

  @Test func itStaysClosedWhileFewFail() {
    var line = Line()
    line.requests(11, .succeeded)
    #expect(line.requests(10, .failed) == 10)
    #expect(line.circuit.share == 1)
    #expect(line.circuit.state == .closed)
  }

  @Test func fewerThanTheMinimumSayNothing() {
    var line = Line()
    line.requests(19, .failed)
    #expect(line.circuit.state == .closed)
    line.requests(1, .failed)
    #expect(line.circuit.state == .open)
    #expect(line.circuit.share == 0.02)
  }

  @Test func whatIsAbandonedSaysNothing() {
    var line = Line()
    #expect(line.requests(100, .abandoned) == 100)
    #expect(line.circuit.state == .closed)
  }

  /// 30 of 40 failed: a quarter succeeded, twice of which would be tolerated.
  @Test func theShareFollowsFromTheLastForty() {
    var line = Line(CircuitBreaker(minimumRequests: 40))
    line.requests(10, .succeeded)
    line.requests(30, .failed)
    #expect(line.circuit.share == 0.5)
    #expect(line.circuit.state == .halfOpen)
    #expect(line.requests(100, .abandoned) == 50)
  }

  @Test func twoRequestsASecondGoThrough() {
    var line = Line()
    line.requests(20, .failed)
    var through = 0
    for _ in 0..<80 {
      line.now += 0.125
      through += line.requests(1, .failed)
    }
    #expect((20...25).contains(through), "\(through)")
    #expect(line.circuit.state == .open)
  }

  @Test func itRisesAtMostTwofoldInAQuarterOfASecond() {
    var line = Line()
    line.requests(20, .failed)
    line.now = 1
    var shares: [Double] = []
    while line.circuit.state != .closed, line.now < 10 {
      line.requests(200, .succeeded)
      shares.append(line.circuit.share)
      line.now += 0.25
    }
    #expect(shares == [0.1, 0.2, 0.4, 0.8, 1])
  }

  @Test func whatBeganBeforeItFellSaysNothing() {
    var line = Line()
    let early = (0..<40).compactMap { _ in line.ask() }
    for pass in early.prefix(20) { line.end(pass, .failed) }
    line.now = 0.6
    for pass in early.suffix(20) {
      #expect(!line.circuit.isValid(pass))
      line.end(pass, .succeeded)
    }
    #expect(line.circuit.share == 0.02)
  }

  @Test func aRatioOfOneOpensOnlyWhenAllFail() {
    var line = Line(CircuitBreaker(failureRatio: 1))
    line.requests(30, .failed)
    #expect(line.circuit.share == 0.02)
    var other = Line(CircuitBreaker(failureRatio: 1))
    other.requests(1, .succeeded)
    other.requests(300, .failed)
    #expect(other.circuit.share == 1)
  }

  // MARK: Simulation

  private static func fault(_ name: String, seconds: Double, _ during: UpstreamModel, best: Double) -> Workload {
    Workload(
      name: name, upstream: [(0, .one), (10, during), (10 + seconds, .one)], load: [(0, 20)], seconds: seconds + 40,
      window: 10..<10 + seconds, best: best, faultEnd: 10 + seconds)
  }

  @Test(arguments: [28.0, 60, 300]) func itRecoversFromARefusal(seconds: Double) {
    for seed in Workload.seeds {
      let workload = Self.fault("refused", seconds: seconds, UpstreamModel(service: .refusing), best: 1)
      let result = SimulationResult(workload, .circuit(CircuitBreaker()), seed: seed)
      #expect(result.recovery.map { $0 <= 3 } ?? false, "seed \(seed): \(String(describing: result.recovery))")
      let sent = result.requests.filter { $0.sent != nil && workload.window.contains($0.arrived) }
      #expect(Double(sent.count) <= 60 + 4 * seconds, "seed \(seed): \(sent.count) attempts")
    }
  }

  /// In a brown-out much of what could succeed does. The former rule refused nearly all of it (1.6 and 0.4 per second).
  @Test(arguments: [(0.1, 17.0), (0.5, 9.0), (0.8, 1.1)]) func theGoodShareIsServed(failing: Double, good: Double) {
    let workload = Self.fault("failing", seconds: 60, .one.with { $0.failing = failing }, best: 20)
    let answers = Workload.helpSeeds.map {
      SimulationResult(workload, .circuit(CircuitBreaker()), seed: $0).good
    }
    #expect(answers.reduce(0, +) / Double(answers.count) >= good)
  }

  @Test(arguments: 0..<10) func atRandom(part: UInt64) {
    for seed in part * 20..<part * 20 + 20 {
      var random = SeededRandom(seed: seed)
      var line = Line(CircuitBreaker(failureRatio: .random(in: 0.05...0.95, using: &random)))
      var passes: [Circuit.Pass] = []
      var failing = 0.0
      for _ in 0..<1_000 {
        if Int.random(in: 0..<100, using: &random) == 0 { failing = .random(in: 0...1, using: &random) }
        line.now += .random(in: 0...0.2, using: &random)
        let wasRejecting = line.circuit.rejects(at: Line.time(line.now))
        let pass = line.ask()
        #expect((pass == nil) == wasRejecting)
        if let pass { passes.append(pass) }
        while passes.count > Int.random(in: 0...5, using: &random) {
          let hasFailed = Double.random(in: 0..<1, using: &random) < failing
          line.end(passes.removeFirst(), hasFailed ? .failed : .succeeded)
        }
        #expect((0.02...1).contains(line.circuit.share))
      }
      // All requests succeed again.
      for _ in 0..<200 {
        line.now += 0.1
        line.requests(1, .succeeded)
      }
      #expect(line.circuit.state == .closed, "seed \(seed)")
    }
  }
}
