@testable import WeirTransport

extension Workload {
  /// Workloads in which a control can only do harm: nothing is wrong, or nobody leaves.
  static let harmless: [Workload] =
    slowByNature + manyAtOnce + leavingByNature + longPolls + healthy
    + harmlessPaths

  private static let slowByNature = [
    Workload(
      name: "answers of 20 s, lognormal, 5/s", upstream: [(0, .queue(400, 20, .lognormal))], load: [(0, 5)],
      seconds: 300, window: 0..<260, best: 5, callerTimeout: .seconds(120)),
    Workload(
      name: "answers of 20 s, 5/s", upstream: [(0, .queue(400, 20))], load: [(0, 5)], seconds: 300, window: 0..<260,
      best: 5, callerTimeout: .seconds(120)),
    Workload(
      name: "answers of 5 s, exponential, 20/s", upstream: [(0, .queue(400, 5, .exponential))], load: [(0, 20)],
      seconds: 200, window: 0..<180, best: 20, callerTimeout: .seconds(60)),
    Workload(
      name: "answers of 2 s, lognormal, 50/s", upstream: [(0, .queue(500, 2, .lognormal))], load: [(0, 50)],
      seconds: 100, window: 0..<90, best: 50, callerTimeout: .seconds(30)),
    Workload(
      name: "latency step to 2 s, patient", upstream: [(0, .one), (20, .queue(80, 2))], load: [(0, 30)], seconds: 100,
      window: 20..<90, best: 30, callerTimeout: .seconds(30)),
    Workload(
      name: "latency step to 5 s, patient", upstream: [(0, .four), (20, .queue(250, 5, .exponential))],
      load: [(0, 30)], seconds: 160, window: 20..<120, best: 30, callerTimeout: .seconds(60)),
  ]

  private static let manyAtOnce = [
    Workload(
      name: "1,000 at once to 200/s", upstream: [(0, .queue(20, 0.1))], load: [(0, 1), (10, 5_000), (10.2, 1)],
      seconds: 40, window: 10..<12, best: 40, callerTimeout: .seconds(30)),
    Workload(
      name: "300 at once to 200/s", upstream: [(0, .queue(20, 0.1))], load: [(0, 1), (10, 1_500), (10.2, 1)],
      seconds: 40, window: 10..<12, best: 40, callerTimeout: .seconds(30)),
    Workload(
      name: "200 at once each half minute, 1 s each", upstream: [(0, .queue(500, 1, .exponential))],
      load: [(0, 1), (30, 2_000), (30.1, 1), (60, 2_000), (60.1, 1)], seconds: 100, window: 29..<62, best: 40,
      callerTimeout: .seconds(30)),
    Workload(
      name: "bursts at 60 % load", upstream: [(0, .one)],
      load: stride(from: 0.0, to: 110, by: 5).flatMap { [($0, 80), ($0 + 2, 8)] }, seconds: 115, window: 5..<110,
      best: 36, callerTimeout: .seconds(5)),
  ]

  private static let leavingByNature = [
    Workload(
      name: "callers who cancel by nature", upstream: [(0, .queue(20, 0.1, .exponential))], load: [(0, 100)],
      seconds: 100, window: 5..<90, best: 100, callerTimeout: .oneOf([0.05, 0.15, 30, 30])),
    Workload(
      name: "callers who cancel by nature, slower", upstream: [(0, .queue(40, 0.5, .lognormal))], load: [(0, 40)],
      seconds: 100, window: 5..<90, best: 40, callerTimeout: .oneOf([0.2, 0.5, 1, 1.5, 30])),
  ]

  private static let polling = UpstreamModel.four.with { $0.longPolls = 1 }

  private static func lull(_ name: String, _ callerTimeout: TimeoutModel) -> Workload {
    Workload(
      name: name, upstream: [(0, .four), (10, polling), (11, .four)],
      load: [(0, 20), (10, 5), (11, 0.001), (18, 200), (18.2, 0.5)], seconds: 60, window: 17.9..<18.4, best: 40,
      callerTimeout: callerTimeout)
  }

  private static let longPolls = [
    Workload(
      name: "all long polls", upstream: [(0, polling)], load: [(0, 20)], seconds: 150, window: 0..<110, best: 20,
      callerTimeout: .seconds(60)),
    lull("a lull with polls open, then a burst", .seconds(60)),
    Workload(
      name: "a broadcast after which all poll again", upstream: [(0, .four), (10, polling), (10.2, .four)],
      load: [(0, 20), (10, 100), (10.2, 0.001), (16, 200), (16.2, 0.5)], seconds: 60, window: 15.9..<16.4, best: 40,
      callerTimeout: .seconds(60)),
    lull("a poller who leaves", .oneOf([3, 60, 60])),
    Workload(
      name: "30 % long polls", upstream: [(0, .four.with { $0.longPolls = 0.3 })], load: [(0, 40)], seconds: 120,
      window: 2..<85, best: 40, callerTimeout: .seconds(60)),
  ]

  private static let healthy = [
    Workload(
      name: "50 % load, 4 servers, exponential", upstream: [(0, .four)], load: [(0, 20)], seconds: 120,
      window: 2..<120, best: 20),
    Workload(
      name: "90 % load, 4 servers, exponential", upstream: [(0, .four)], load: [(0, 36)], seconds: 240,
      window: 2..<240, best: 36),
    Workload(
      name: "90 % load, one server", upstream: [(0, .one)], load: [(0, 36)], seconds: 240, window: 2..<240, best: 36),
    Workload(
      name: "80 % load, one server", upstream: [(0, .one)], load: [(0, 32)], seconds: 240, window: 2..<240, best: 32),
    Workload(
      name: "90 % load, 20 servers, exponential", upstream: [(0, .queue(20, 0.1, .exponential))], load: [(0, 180)],
      seconds: 60, window: 2..<60, best: 180),
    Workload(
      name: "70 % load, bimodal", upstream: [(0, .queue(4, 0.05, .bimodal))], load: [(0, 29)], seconds: 120,
      window: 2..<120, best: 29),
    Workload(
      name: "70 % load, sharing, lognormal", upstream: [(0, .sharing(4, 0.1, .lognormal))], load: [(0, 28)],
      seconds: 120, window: 2..<120, best: 28),
    Workload(
      name: "cold start at 300/s", upstream: [(0, .queue(50, 0.1))], load: [(0, 300)], seconds: 20, window: 0..<20,
      best: 300),
    Workload(
      name: "burst of ten times for a second, roomy", upstream: [(0, .queue(40, 0.1))],
      load: [(0, 20), (20, 200), (21, 20)], seconds: 40, window: 20..<22, best: 110),
  ]
}
