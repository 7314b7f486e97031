import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

@Suite("Circuit") struct CircuitTests {
  /// A circuit that a test speaks to in words, at the time of its clock.
  fileprivate struct Line {
    let settings: CircuitBreaker
    var circuit = Circuit(at: at(0))
    var now = 0.0
    var passes: [Circuit.Pass] = []

    init(_ settings: CircuitBreaker) {
      self.settings = settings
    }

    /// Nil: let through; else seconds until a probe, −1 for not known.
    mutating func ask() -> Double? {
      switch circuit.ask(settings, at: at(now)) {
      case .admitted(let pass):
        passes.append(pass)
        return nil
      case .rejected(let retryAfter): return retryAfter ?? -1
      }
    }

    /// The first of those under way.
    mutating func end(_ ending: Circuit.Ending) {
      circuit.ended(passes.removeFirst(), ending, settings, at: at(now))
    }

    mutating func attempt(_ ending: Circuit.Ending, times: Int = 1) {
      for _ in 0..<times where ask() == nil { end(ending) }
    }

    var state: CircuitState { circuit.state }
  }

  @Test func theDefaults() {
    #expect(
      CircuitBreaker()
        == CircuitBreaker(failureRatio: 0.5, minimumRequests: 20, window: 10, openFor: 5, halfOpenProbes: 1))
  }

  @Test(arguments: [
    // succeeded, failed, minimum, ratio, opens
    (0, 20, 20, 0.5, true), (0, 19, 20, 0.5, false), (10, 10, 20, 0.5, true), (11, 10, 20, 0.5, false),
    (20, 0, 20, 0.5, false), (0, 1, 1, 0.5, true), (0, 1, 0, 0, true), (5, 0, 0, 0, false), (99, 1, 20, 0.01, true),
    (0, 30, 20, 1.5, true), (1, 29, 20, 1.5, false), (1, 19, 20, 1, false), (0, 20, 20, .nan, true),
    (1, 29, 20, .nan, false), (99, 1, 20, -1, true),
  ])
  func itOpensWhenEnoughFail(succeeded: Int, failed: Int, minimum: Int, ratio: Double, opens: Bool) {
    var line = Line(CircuitBreaker(failureRatio: ratio, minimumRequests: minimum))
    line.attempt(.succeeded, times: succeeded)
    line.attempt(.abandoned, times: 50)
    line.attempt(.failed, times: failed)
    #expect((line.state == .open) == opens)
    #expect((line.ask() == 5) == opens)
  }

  @Test func whatIsOlderThanTheWindowDoesNotCount() {
    var line = Line(CircuitBreaker(minimumRequests: 10))
    line.attempt(.failed, times: 9)
    line.now = 10.25
    line.attempt(.failed, times: 9)
    #expect(line.state == .closed)
    line.attempt(.failed)
    #expect(line.state == .open)
  }

  @Test func aProbeThatSucceedsClosesIt() {
    var line = Line(CircuitBreaker(minimumRequests: 2))
    line.attempt(.failed, times: 2)
    line.now = 3
    #expect(line.ask() == 2)
    line.now = 5
    #expect(line.ask() == nil)
    #expect(line.state == .halfOpen)
    #expect(line.ask() == -1, "a probe is under way")
    line.end(.succeeded)
    #expect(line.state == .closed)
    line.attempt(.failed)
    #expect(line.state == .closed, "what was counted before is forgotten")
    line.attempt(.failed)
    #expect(line.ask() == 5, "so is how long it was open")
  }

  @Test func aProbeThatFailsOpensItForTwiceAsLongUpToAMinute() {
    var line = Line(CircuitBreaker(minimumRequests: 1))
    line.attempt(.failed)
    for seconds in [10.0, 20, 40, 60, 60] {
      line.now += line.ask() ?? 0
      line.attempt(.failed)
      #expect(line.ask() == seconds)
    }
    #expect(Line.longest(openFor: 100) == 60)
    #expect(Line.longest(openFor: -1) == nil, "a probe is let through at once")
    #expect(Line.longest(openFor: .nan) == nil)
  }

  @Test(arguments: [-1, .nan]) func aWindowIsASecondLong(window: Double) {
    var line = Line(CircuitBreaker(minimumRequests: 2, window: window))
    line.attempt(.failed)
    line.now = 1.5
    line.attempt(.failed)
    #expect(line.state == .closed)
    line.now = 2
    line.attempt(.failed)
    #expect(line.state == .open)
  }

  /// Who shares a destination may have other settings: those of the first probe hold.
  @Test func probesAreAsManyAsTheFirstWants() {
    var circuit = Circuit(at: at(0))
    let (many, one) = (
      CircuitBreaker(minimumRequests: 1, openFor: 5, halfOpenProbes: 2), CircuitBreaker(minimumRequests: 1, openFor: 5)
    )
    guard case .admitted(let failing) = circuit.ask(many, at: at(0)) else {
      Issue.record("a closed circuit rejects")
      return
    }
    circuit.ended(failing, .failed, many, at: at(0))
    for (settings, state) in [(many, CircuitState.halfOpen), (one, .closed)] {
      guard case .admitted(let probe) = circuit.ask(settings, at: at(6)) else {
        Issue.record("stuck in \(circuit.state)")
        return
      }
      circuit.ended(probe, .succeeded, settings, at: at(6))
      #expect(circuit.state == state)
    }
  }

  @Test func aProbeThatSaysNothingMakesRoomForAnother() {
    var line = Line(CircuitBreaker(minimumRequests: 1))
    line.attempt(.failed)
    line.now = 5
    line.attempt(.abandoned)
    #expect(line.state == .halfOpen)
    line.attempt(.succeeded)
    #expect(line.state == .closed)
  }

  @Test func severalProbes() {
    var line = Line(CircuitBreaker(minimumRequests: 1, halfOpenProbes: 3))
    line.attempt(.failed)
    line.now = 5
    for _ in 0..<3 { #expect(line.ask() == nil) }
    #expect(line.ask() == -1)
    line.end(.succeeded)
    #expect(line.ask() == -1, "one has succeeded, two are under way")
    line.end(.succeeded)
    #expect(line.state == .halfOpen)
    line.end(.succeeded)
    #expect(line.state == .closed)
  }

  @Test(arguments: [(5.0, 5.0), (0.1, 1), (0, 1)])
  func aProbeThatTakesItsTimeHoldsNobodyUpForLongerThanItWasOpen(openFor: Double, patience: Double) {
    var line = Line(CircuitBreaker(minimumRequests: 1, openFor: openFor))
    line.attempt(.failed)
    line.now = openFor
    #expect(line.ask() == nil)
    line.now += patience - 0.01
    #expect(line.ask() == -1)
    line.now += 0.02
    #expect(line.ask() == nil)
    #expect(line.ask() == -1, "one more, not all")
    line.passes.swapAt(0, 1)
    line.end(.succeeded)
    #expect(line.state == .closed)
    line.end(.failed)
    #expect(line.state == .closed, "the late one is of no account")
  }

  @Test func aLateProbeThatFailsOpensItWhileAnotherIsUnderWay() {
    var line = Line(CircuitBreaker(minimumRequests: 1))
    line.attempt(.failed)
    line.now = 5
    #expect(line.ask() == nil)
    line.now = 10
    #expect(line.ask() == nil)
    line.end(.failed)
    #expect(line.ask() == 10)
    line.end(.succeeded)
    #expect(line.state == .open)
  }

  @Test func whatBeganBeforeSaysNothing() {
    var line = Line(CircuitBreaker(minimumRequests: 2))
    for _ in 0..<6 { _ = line.ask() }
    line.end(.failed)
    line.end(.failed)
    #expect(line.state == .open)
    line.end(.succeeded)
    line.now = 5
    let probe = line.passes.count
    #expect(line.ask() == nil)
    line.end(.failed)
    line.end(.succeeded)
    #expect(line.state == .halfOpen, "those were let through when it was closed")
    line.passes.removeFirst(probe - 2)
    line.end(.succeeded)
    #expect(line.state == .closed)
  }

  // MARK: Simulation

  /// A destination that works, fails and works again, and many at once who go there.
  @Test(arguments: 0..<10) func itRecoversAndLeavesTheDestinationAlone(part: UInt64) {
    for seed in part * 100..<part * 100 + 100 {
      var random = SeededRandom(seed: seed)
      let settings = CircuitBreaker(
        minimumRequests: .random(in: 1...20, using: &random), openFor: .random(in: 0.5...10, using: &random),
        halfOpenProbes: .random(in: 1...3, using: &random))
      var line = Line(settings)
      let outage = 5.0..<Double.random(in: 25...60, using: &random)
      var hasOpened = false
      // A hundred seconds after its end, the longest it stays open is over.
      while line.now < outage.upperBound + 100 {
        line.now += .random(in: 0...0.3, using: &random)
        let wasOpen = line.circuit.rejection(settings, at: at(line.now)) != nil
        let isThrough = line.ask() == nil
        if isThrough == wasOpen { Issue.record("seed \(seed)") }
        while line.passes.count > Int.random(in: 0...4, using: &random) {
          let says: Circuit.Ending = outage.contains(line.now) ? .failed : .succeeded
          line.end(Int.random(in: 0..<10, using: &random) == 0 ? .abandoned : says)
        }
        hasOpened = hasOpened || line.state == .open
      }
      #expect(hasOpened && line.state == .closed, "seed \(seed)")
    }
  }

  /// Of those who are let through, some never say what came of it.
  @Test(arguments: 0..<10) func itClosesThoughProbesHang(part: UInt64) {
    for seed in part * 100..<part * 100 + 100 {
      var random = SeededRandom(seed: seed)
      let (openFor, probes) = (Double.random(in: 0...60, using: &random), Int.random(in: 1...3, using: &random))
      var line = Line(CircuitBreaker(minimumRequests: 1, openFor: openFor, halfOpenProbes: probes))
      line.attempt(.failed)
      var admitted = 0
      while line.state != .closed, line.now < 3_600 {
        line.now += .random(in: 0...2, using: &random)
        guard line.ask() == nil else { continue }
        admitted += 1
        if Int.random(in: 0..<3, using: &random) == 0 { line.passes.removeLast() } else { line.end(.succeeded) }
      }
      #expect(line.state == .closed, "seed \(seed)")
      #expect(admitted <= probes + Int(line.now / max(1, openFor)), "seed \(seed)")
    }
  }
}

extension CircuitTests.Line {
  /// How long it is open the first time.
  fileprivate static func longest(openFor: Double) -> Double? {
    var line = Self(CircuitBreaker(minimumRequests: 1, openFor: openFor))
    line.attempt(.failed)
    return line.ask()
  }
}
