import Glibc
import Testing

@testable import WeirTransport

extension Workload {
  /// A workload and what is to be reached.
  struct Bar: Sendable, CustomTestStringConvertible {
    let workload: Workload
    /// Good answers per second; where shares are compared, of the best possible.
    let good: Double
    var recovery: Double?
    /// Seconds after which half of the good answers have come.
    var median: Double?
    /// Seconds after which half of the refused have heard of it.
    var heard: Double?

    var testDescription: String { workload.name }
  }

  /// `WEIR_SIMULATION_FIRST_SEED` takes others than those that the rules were chosen with.
  static let firstSeed = getenv("WEIR_SIMULATION_FIRST_SEED").flatMap { UInt64(String(cString: $0)) } ?? 11

  /// Seeds of each workload; `WEIR_SIMULATION_SEEDS` sets their number.
  static let seeds = seeds(unlessSet: 1)
  /// Seeds of which a mean is taken.
  static let helpSeeds = seeds(unlessSet: 4)

  private static func seeds(unlessSet count: UInt64) -> Range<UInt64> {
    let count = getenv("WEIR_SIMULATION_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? count
    return firstSeed..<firstSeed + max(1, count)
  }

  private static func table(
    _ name: String, _ during: UpstreamModel, seconds: Double, load: Double,
    window: Range<Double>, best: Double, callerTimeout: Double = 2
  ) -> Workload {
    Workload(
      name: name, upstream: [(0, .one), (10, during), (10 + seconds, .one)], load: [(0, load)],
      seconds: 10 + seconds + 25, window: window, best: best, callerTimeout: .seconds(callerTimeout),
      faultEnd: 10 + seconds)
  }

  private static func named(_ name: String, _ window: Range<Double>) -> Workload {
    guard var workload = helped.first(where: { $0.name == name }) else { preconditionFailure("no workload \(name)") }
    workload.window = window
    return workload
  }

  static let sustained = [
    Bar(workload: named("1.5x, one server", 10..<60), good: 36, median: 0.6, heard: 0.1),
    Bar(workload: named("3x, one server", 10..<60), good: 36),
    Bar(workload: named("1.5x, 4 servers, exponential", 10..<60), good: 35),
    Bar(workload: named("1.5x, sharing", 10..<60), good: 35),
    // Until 13 s the upstream works off what was sent before the first callers left.
    Bar(workload: named("1.5x, collapsing", 10..<60), good: 32),
    Bar(
      workload: table(
        "half for 20 s", .queue(1, 0.05), seconds: 20, load: 30, window: 20..<30, best: 20), good: 18, recovery: 2),
    Bar(
      workload: table(
        "brown-out", .queue(1, 0.05).with { $0.failing = 0.5 }, seconds: 60, load: 30, window: 20..<70, best: 10),
      good: 9),
    Bar(
      workload: table(
        "brown-out at 20/s", .queue(1, 0.05).with { $0.failing = 0.5 }, seconds: 60, load: 20, window: 20..<70,
        best: 10), good: 9),
    Bar(
      workload: table(
        "refused for 28 s", UpstreamModel(service: .refusing), seconds: 28, load: 20, window: 38..<60, best: 20),
      good: 18, recovery: 1),
    Bar(
      workload: table(
        "hung for 15 s", UpstreamModel(service: .hanging), seconds: 15, load: 20, window: 10..<25, best: 20), good: 0,
      recovery: 3, heard: 0.1),
    Bar(
      workload: table(
        "hung for 15 s, caller timeout of 12 s", UpstreamModel(service: .hanging), seconds: 15, load: 20,
        window: 10..<25, best: 20, callerTimeout: 12), good: 0, recovery: 3, heard: 0.1),
    Bar(
      workload: table(
        "hung for 30 s", UpstreamModel(service: .hanging), seconds: 30, load: 20, window: 10..<40, best: 20), good: 0,
      recovery: 3, heard: 0.1),
  ]

  static let latencyStep = named("25 ms to 250 ms, ten servers", 22..<45)

  static let urgency: Workload = {
    var workload = named("1.5x, one server", 10..<60)
    workload.priorities = [(0, 0.1), (1, 0.2), (3, 0.3), (5, 0.2), (7, 0.2)]
    return workload
  }()

  static let shares = [
    Bar(workload: named("1.5x, 20 servers, 800/s", 10..<20), good: 0.95),
    Bar(workload: named("1.5x, bimodal", 10..<60), good: 0.91),
    Bar(workload: named("1.5x, 4 servers, sharing, lognormal", 10..<60), good: 0.93),
    Bar(workload: named("1.5x, caller timeout of 0.5 s", 10..<60), good: 0.95),
    Bar(workload: named("1.5x, mixed caller timeouts", 10..<60), good: 0.95),
    Bar(workload: named("half of 4 servers", 20..<70), good: 0.94),
    Bar(workload: named("brown-out of 4 servers", 20..<70), good: 0.93),
    Bar(workload: named("pauses of 0.5 s", 2..<60), good: 0.95),
    Bar(workload: named("overload, then 250 ms, ten servers", 20..<80), good: 0.91),
    Bar(workload: named("250 ms to 25 ms at 1.5x", 40..<80), good: 0.95),
    Bar(workload: named("30 % fast 503", 20..<60), good: 0.94),
  ]
}
