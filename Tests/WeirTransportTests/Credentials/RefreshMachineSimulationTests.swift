import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// Drives refresh machines through random interleavings of requests, refusals, refreshes that succeed, fail, answer twice
/// or never, credentials set from outside, and cancels.
@Suite("§18 RefreshMachine simulation", .slow)
struct RefreshMachineSimulationTests {
  private static let seeds =
    ProcessInfo.processInfo.environment["WEIR_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 4_000

  @Test("Never two refreshes at once, no request waits for ever, none is sent with a refused credential")
  func interleavings() {
    var seen: [String: Int] = [:]
    for seed in 0..<Self.seeds {
      var simulation = RefreshSimulation(seed: seed)
      simulation.run()
      guard simulation.violations.isEmpty else {
        var again = RefreshSimulation(seed: seed, isLogged: true)
        again.run()
        Issue.record("seed \(seed): \(again.violations) after \(again.log.joined(separator: "; "))")
        return
      }
      for event in simulation.seen { seen[event.rawValue, default: 0] += 1 }
    }
    for event in RefreshSimulation.Event.allCases {
      #expect(seen[event.rawValue, default: 0] > 5, "\(event) has to happen: \(seen)")
    }
  }
}
