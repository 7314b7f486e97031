import Foundation
import Testing
import WeirTestSupport

/// Drives pools through random openings, reuse, idle times and ends, beside a naive model.
@Suite(.slow) struct PoolSimulationTests {
  private static let seeds = ProcessInfo.processInfo.environment["WEIR_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 200

  @Test func thePoolDoesWhatTheModelDoes() {
    var seen: [PoolSimulation.Event: Int] = [:]
    for seed in 0..<Self.seeds {
      var simulation = PoolSimulation(seed: seed)
      simulation.run()
      guard simulation.violations.isEmpty else {
        var again = PoolSimulation(seed: seed, isLogged: true)
        again.run()
        Issue.record("seed \(seed): \(again.violations) after \(again.log.joined(separator: "; "))")
        return
      }
      seen.merge(simulation.seen, uniquingKeysWith: +)
    }
    for event in PoolSimulation.Event.allCases {
      #expect(seen[event, default: 0] > 5, "\(event) has to happen: \(seen)")
    }
  }
}
