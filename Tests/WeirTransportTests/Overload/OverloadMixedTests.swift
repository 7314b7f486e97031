import Testing
import WeirTestSupport

@testable import WeirTransport

/// What the control gives beside other gateways, and to callers that announce their timeouts, ask again, upload or get
/// hedges: means of the seeds.
@Suite("Overload: mixed", .slow, .timeLimit(.minutes(5))) struct OverloadMixedTests {
  private func results(_ workload: Workload) -> [SimulationResult] {
    Workload.helpSeeds.map { SimulationResult(workload, .overload(.default), seed: $0) }
  }

  private func ofBest(_ workload: Workload) -> Double {
    results(workload).map(\.ofBest).reduce(0, +) / Double(Workload.helpSeeds.count)
  }

  @Test(arguments: Workload.shared) func fourGatewaysGiveNearlyWhatOneGives(workload: Workload) {
    #expect(ofBest(.gateways(4, workload)) >= 0.8 * ofBest(workload))
  }

  @Test(arguments: Workload.shared) func eightGatewaysStillHelp(workload: Workload) {
    #expect(ofBest(.gateways(8, workload)) >= 0.7)
  }

  @Test(arguments: Workload.sharedHealthy, [4, 8]) func gatewaysRefuseNothingAtNinetyPercent(
    workload: Workload, gateways: Int
  ) {
    for result in results(.gateways(gateways, workload)) { #expect(result.refused == 0) }
  }

  @Test(arguments: Workload.announced + Workload.retried) func timeoutsMayBeAnnouncedAndCallersMayAskAgain(
    workload: Workload
  ) {
    #expect(ofBest(workload) >= 0.9)
  }

  @Test(arguments: Workload.uploading + Workload.hedged) func uploadsAndHedges(workload: Workload) {
    #expect(ofBest(workload) >= 0.75)
  }

  @Test func anOverloadMinutesAfterAnother() { #expect(ofBest(.twoOverloads) >= 0.95) }

  /// The time that an upstream is known to take without a queue does not rise from one overload to the next, nor does the limit.
  @Test func theBaselineDoesNotRiseFromOverloadToOverload() throws {
    for seed in Workload.helpSeeds {
      var simulation = Simulation(.oneOverloadAfterAnother, .overload(.default), seed: seed)
      simulation.run()
      let machine = try #require(simulation.machine)
      let latency = try #require(machine.latency)
      #expect(latency.withoutQueue < 0.2)
      #expect(latency.baseline < 0.25)
      #expect(try #require(machine.limit).value < 20)
      #expect(SimulationResult(simulation).ofBest >= 0.9)
    }
  }

  @Test(arguments: Workload.failingAtOnce) func failuresAtOnceAreNeverControlled(workload: Workload) {
    for result in results(workload) {
      #expect(result.controlled == nil)
      #expect(result.refused == 0)
    }
  }
}
