import Testing

@testable import WeirTransport

/// No attempt begins in a pause, or beyond the rate and the burst; each that waits hears in time; no wake is in vain.
@Suite("Pace: simulated APIs", .timeLimit(.minutes(5))) struct PaceSimulationTests {
  private static let seeds: Range<UInt64> = 1..<6

  private func run(_ workload: PaceWorkload, _ check: (PaceSimulation, _ comment: Comment) -> Void) {
    for seed in Self.seeds {
      var simulation = PaceSimulation(workload, seed: seed)
      simulation.run()
      let (result, comment): (PaceResult, Comment) = (simulation.result, "seed \(seed)\n\(simulation.result.table)")
      #expect(result.violations.prefix(3) == [], comment)
      #expect(result.begun.count + result.refused == result.asked, comment)
      check(simulation, comment)
    }
  }

  @Test(arguments: PaceWorkload.known) func aKnownLimitIsUsedAndNotHit(workload: PaceWorkload) {
    run(workload) { simulation, comment in
      let result = simulation.result
      #expect(Double(result.good.count) >= 0.97 * 50 * workload.seconds, comment)
      #expect(Double(result.tooMany) <= 0.005 * Double(result.begun.count), comment)
    }
  }

  /// A limit that was hit costs what was under way, and not one answer per request that waits. After the last pause as many
  /// go as want to.
  @Test(arguments: PaceWorkload.found) func aLimitIsFound(workload: PaceWorkload) {
    run(workload) { simulation, comment in
      let result = simulation.result
      #expect(result.lastPauseEnd < workload.seconds - 2, comment)
      #expect(simulation.goAtOnce(1000) == 1000, comment)
      if workload.api.retryAfter == nil { return }
      #expect(result.pauses > 0, comment)
      #expect(result.tooMany <= result.pauses + result.underWayAtPauses, comment)
      #expect(result.tooMany < result.good.count / 2, comment)
    }
  }

  @Test(arguments: PaceWorkload.both) func aRateAndPausesHoldTogether(workload: PaceWorkload) {
    run(workload) { simulation, comment in
      #expect(Double(simulation.result.good.count) >= 0.5 * 50 * workload.seconds, comment)
    }
  }

  @Test func aPauseOfFiveSecondsRefusesNoneThatCanWait() {
    run(.longPause) { simulation, comment in
      let result = simulation.result
      #expect(result.pauses == 1 && result.refused == 0, comment)
      #expect(!result.begun.contains { $0 > 1.05 && $0 < 6 }, comment)
    }
  }
}

extension PaceResult {
  /// What was begun, answered well and refused in each second.
  var table: String {
    let seconds = Int(begun.last ?? 0)
    let rows = (0...seconds).map { second in
      "\(second)\t\(begun.count { Int($0) == second })\t\(good.count { Int($0) == second })"
    }
    return """
      asked \(asked), refused \(refused), 429 \(tooMany), pauses \(pauses) with \(underWayAtPauses) under way, last end \(lastPauseEnd)
      s\tbegun\tgood
      \(rows.joined(separator: "\n"))
      """
  }
}
