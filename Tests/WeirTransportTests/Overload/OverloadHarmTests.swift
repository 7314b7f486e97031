import Testing
import WeirTestSupport

@testable import WeirTransport

/// What the control may not cost: in each of these workloads it gives at least what slots and a queue give, less one
/// point.
@Suite("Overload: no harm", .slow, .timeLimit(.minutes(5))) struct OverloadHarmTests {
  @Test(arguments: Workload.harmless) func noHarm(workload: Workload) {
    for seed in Workload.seeds {
      let off = SimulationResult(workload, .off, seed: seed)
      let on = SimulationResult(workload, .overload(.default), seed: seed)
      #expect(on.share >= off.share - 0.01, "seed \(seed): \(off.share), \(on.share)")
      if !on.requests.contains(where: { $0.state == .gaveUp }) {
        #expect(on.requests.allSatisfy { $0.state == .answered }, "seed \(seed): refused though nobody gave up")
      }
      if on.controlled == nil { #expect(on.refused == 0, "seed \(seed): refused in the free mode") }
    }
  }

  @Test func anUpstreamThatHasBecomeSlowerIsNotLimitedForLong() {
    func mean(_ control: Simulation.Control) -> Double {
      Workload.helpSeeds.map { SimulationResult(.slowOnly, control, seed: $0).share }.reduce(0, +)
        / Double(Workload.helpSeeds.count)
    }
    let (off, on) = (mean(.off), mean(.overload(.default)))
    #expect(on >= off - 0.1, "\(off), \(on)")
  }
}
