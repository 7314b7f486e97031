import Testing
import WeirTestSupport

@testable import WeirTransport

/// What the control gives in overloads and faults: the mean of the seeds, counted from 10 s after the overload or the fault
/// began, unless said.
@Suite("Overload: help", .slow, .timeLimit(.minutes(5))) struct OverloadHelpTests {
  /// A workload, run once for each seed.
  private struct Runs {
    let results: [SimulationResult]

    init(_ workload: Workload, _ settings: OverloadSettings = .default) {
      results = Workload.helpSeeds.map { SimulationResult(workload, .overload(settings), seed: $0) }
    }

    func mean(_ value: (SimulationResult) -> Double) -> Double {
      results.map(value).reduce(0, +) / Double(results.count)
    }
  }

  @Test(arguments: Workload.sustained) func goodAnswers(row: Workload.Bar) {
    let runs = Runs(row.workload)
    let good = runs.mean(\.good)
    #expect(good >= row.good)
    for result in runs.results {
      if let seconds = row.recovery { #expect(result.recovery ?? .infinity <= seconds) }
      if let seconds = row.heard { #expect(result.refusedAfter <= seconds) }
      if let seconds = row.median { #expect(result.median <= seconds) }
    }
  }

  /// The share of the best possible, within 5 points of what the same control gives that is always on.
  @Test(arguments: Workload.shares) func shares(row: Workload.Bar) {
    #expect(Runs(row.workload).mean(\.ofBest) >= row.good)
  }

  /// An upstream that hangs is noticed once callers leave it, and they leave after two seconds.
  @Test func aHungUpstreamIsNoticed() throws {
    let row = try #require(Workload.sustained.first { $0.workload.name == "hung for 30 s" })
    for result in Runs(row.workload).results {
      let refusals = result.requests.filter { $0.reason == .silent }.map(\.arrived)
      #expect(refusals.min() ?? .infinity < 13.5)
      #expect(result.refused > 0.75)
    }
  }

  /// After 5.2 seconds it is taken for a hang, though no caller has left yet.
  @Test func callersOfALongHangHearAtOnce() throws {
    let row = try #require(Workload.sustained.first { $0.workload.name == "hung for 15 s, caller timeout of 12 s" })
    for result in Runs(row.workload).results {
      let late = result.requests.filter { (10..<25).contains($0.arrived) }
      let refused = late.filter { $0.reason == .silent }
      #expect(
        2 * refused.count > late.count, "\(refused.count) of \(late.count), from \(refused.first?.arrived ?? 0) on")
    }
  }

  @Test func latencyStep() {
    for result in Runs(.latencyStep).results {
      #expect(result.good >= 25)
      #expect(result.lastRefusal ?? 0 <= 35)
    }
  }

  @Test func burst() {
    let off = Workload.helpSeeds.map { SimulationResult(.burst, .off, seed: $0).good(in: 20..<25) }
    // The control begins when the burst is over: of what it refuses, some would have been served.
    #expect(Runs(.burst).mean { $0.good(in: 20..<25) } >= off.reduce(0, +) / Double(off.count) - 0.1)
  }

  @Test func ramp() {
    let runs = Runs(.ramp)
    #expect(runs.mean { $0.good(in: 10..<20) } >= 13)
    #expect(runs.mean { $0.good(in: 25..<35) } >= 28)
  }

  @Test func urgency() {
    let runs = Runs(.urgency, OverloadSettings(priority: true))
    for priority in [0, 1] {
      #expect(runs.mean { $0.byPriority[priority] ?? 0 } >= 0.93)
    }
  }
}
