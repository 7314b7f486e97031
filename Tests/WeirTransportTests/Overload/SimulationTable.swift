import Glibc
import Testing

@testable import WeirTransport

/// The figures of all workloads as a table, for those who change a rule: `WEIR_SIMULATION_TABLE=5 swift test` takes five
/// seeds of each.
@Suite("Overload: table", .enabled(if: getenv("WEIR_SIMULATION_TABLE") != nil)) struct SimulationTable {
  @Test func figures() {
    let seeds = getenv("WEIR_SIMULATION_TABLE").flatMap { UInt64(String(cString: $0)) } ?? 1
    let only = getenv("WEIR_SIMULATION_ONLY").map { String(cString: $0) } ?? ""
    for (title, workloads, isShare) in [
      ("no harm", Workload.harmless + [.slowOnly], true), ("help", Workload.helped, false),
    ] {
      var sums = (off: 0.0, on: 0.0, count: 0.0, worst: 1.0)
      print("\(pad(title, 50))  off   on   worst seed, controlled after, recovery")
      for workload in workloads where only.isEmpty || workload.name.contains(only) {
        let results = (Workload.firstSeed..<Workload.firstSeed + seeds).map { seed in
          (
            off: SimulationResult(workload, .off, seed: seed),
            on: SimulationResult(workload, .overload(.default), seed: seed)
          )
        }
        func value(_ result: SimulationResult) -> Double { isShare ? result.share : result.ofBest }
        let off = results.map { value($0.off) }.reduce(0, +) / Double(seeds)
        let on = results.map { value($0.on) }.reduce(0, +) / Double(seeds)
        let worst = results.map { value($0.on) }.min() ?? 0
        let controlled = results.map { $0.on.controlled.map { digits($0) } ?? "-" }.joined(separator: " ")
        let recovery =
          workload.faultEnd == nil
          ? "" : "| " + results.map { $0.on.recovery.map { digits($0) } ?? "never" }.joined(separator: " ")
        print(pad(workload.name, 50), digits(100 * off), digits(100 * on), digits(100 * worst), controlled, recovery)
        sums = (sums.off + off, sums.on + on, sums.count + 1, min(sums.worst, on))
      }
      print(
        pad("mean, worst", 50), digits(100 * sums.off / sums.count), digits(100 * sums.on / sums.count),
        digits(100 * sums.worst))
    }
  }

  @Test func bars() {
    print("\(pad("bars, of the mean of the seeds", 50)) bar  mean  worst  off | recovery, refused hear after")
    for bar in Workload.sustained + Workload.shares {
      let isShare = bar.good <= 1 && bar.good > 0
      func value(_ result: SimulationResult) -> Double { isShare ? 100 * result.ofBest : result.good }
      let on = Workload.helpSeeds.map { SimulationResult(bar.workload, .overload(.default), seed: $0) }
      let off = Workload.helpSeeds.map { value(SimulationResult(bar.workload, .off, seed: $0)) }
      let count = Double(on.count)
      let recoveries = on.map { $0.recovery.map { "\($0)" } ?? "-" }.joined(separator: " ")
      print(
        pad(bar.workload.name, 50), digits(isShare ? 100 * bar.good : bar.good),
        digits(on.map(value).reduce(0, +) / count), digits(on.map(value).min() ?? 0),
        digits(off.reduce(0, +) / count), "|", recoveries, digits(1_000 * (on.map(\.refusedAfter).max() ?? 0)),
        "ms; p50",
        digits(1_000 * (on.map(\.median).max() ?? 0)), "ms")
    }
    let step = Workload.helpSeeds.map { SimulationResult(.latencyStep, .overload(.default), seed: $0) }
    print("latency step:", step.map { digits($0.good) }, step.map { digits($0.lastRefusal ?? 0) })
    for workload in [Workload.burst, .ramp] {
      for control in [Simulation.Control.off, .overload(.default)] {
        let runs = Workload.helpSeeds.map { SimulationResult(workload, control, seed: $0) }
        let windows = workload.name == Workload.burst.name ? [20.0..<25] : [10.0..<20, 25..<35]
        print(workload.name, windows.map { window in runs.map { digits($0.good(in: window)) } })
      }
    }
    let urgent = Workload.helpSeeds.map {
      SimulationResult(.urgency, .overload(OverloadSettings(priority: true)), seed: $0)
    }
    for priority in [0, 1, 3, 5, 7] {
      print("urgency \(priority):", urgent.map { digits(100 * ($0.byPriority[priority] ?? 0)) })
    }
  }

  private func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private func digits(_ value: Double) -> String {
    if !value.isFinite { return "-" }
    let tenths = Int((10 * value).rounded())
    let text = "\(tenths / 10).\(abs(tenths % 10))"
    return String(repeating: " ", count: max(0, 5 - text.count)) + text
  }
}
