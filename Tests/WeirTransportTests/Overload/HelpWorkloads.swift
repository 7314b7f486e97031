@testable import WeirTransport

extension Workload {
  /// Overloads and faults in which a control helps, with the windows of the prototype: from the first losses on.
  static let helped: [Workload] = overloads + faults + steps + [burst, ramp]

  private static func overload(
    _ name: String, _ model: UpstreamModel, _ perSecond: Double, of best: Double,
    _ callerTimeout: TimeoutModel = .seconds(2)
  ) -> Workload {
    Workload(
      name: name, upstream: [(0, model)], load: [(0, perSecond)], seconds: 60, window: 5..<60, best: best,
      callerTimeout: callerTimeout)
  }

  static let overloads = [
    overload("1.5x, one server", .one, 60, of: 40),
    overload("3x, one server", .one, 120, of: 40),
    overload("3x, 4 servers, exponential", .four, 120, of: 40),
    overload("1.1x, one server", .one, 44, of: 40),
    overload("1.5x, 4 servers, exponential", .four, 60, of: 40),
    overload("1.5x, sharing", .sharing(1, 0.025), 60, of: 40),
    overload("1.5x, 4 servers, sharing, lognormal", .sharing(4, 0.1, .lognormal), 60, of: 40),
    overload("1.5x, collapsing", UpstreamModel(service: .collapsing(queue: 40)), 60, of: 40),
    Workload(
      name: "2x, 40 servers of 2 s", upstream: [(0, .queue(40, 2))], load: [(0, 40)], seconds: 120, window: 20..<120,
      best: 20, callerTimeout: .seconds(8)),
    Workload(
      name: "1.5x, 20 servers, 800/s", upstream: [(0, .queue(20, 0.025))], load: [(0, 1_200)], seconds: 20,
      window: 3..<20, best: 800),
    overload("1.5x, bimodal", .queue(4, 0.05, .bimodal), 63, of: 42.1),
    overload("1.5x, caller timeout of 0.5 s", .one, 60, of: 40, .seconds(0.5)),
    overload("1.5x, caller timeout of 10 s", .one, 60, of: 40, .seconds(10)),
    overload("1.5x, mixed caller timeouts", .one, 60, of: 40, .oneOf([0.5, 1, 2, 5, 30])),
    Workload(
      name: "1.2x, caller timeout of 30 s", upstream: [(0, .one)], load: [(0, 48)], seconds: 300, window: 20..<280,
      best: 40, callerTimeout: .seconds(30)),
    Workload(
      name: "five times the capacity", upstream: [(0, .one), (20, .queue(5, 0.025))], load: [(0, 60), (20, 150)],
      seconds: 60, window: 22..<60, best: 150),
  ]

  private static func fault(
    _ name: String, _ before: UpstreamModel, _ during: UpstreamModel, seconds: Double = 60, load: Double = 30,
    of best: Double, isWindowAfter: Bool = false, _ callerTimeout: TimeoutModel = .seconds(2)
  ) -> Workload {
    let end = 10 + seconds
    return Workload(
      name: name, upstream: [(0, before), (10, during), (end, before)], load: [(0, load)], seconds: end + 30,
      window: isWindowAfter ? end..<end + 30 : 10..<end, best: best, callerTimeout: callerTimeout, faultEnd: end)
  }

  static let faults = [
    fault("half the capacity", .one, .queue(1, 0.05), of: 20),
    fault("half of 4 servers", .four, .queue(2, 0.1, .exponential), of: 20),
    fault("brown-out", .one, .queue(1, 0.05).with { $0.failing = 0.5 }, of: 10),
    fault("brown-out of 4 servers", .four, .queue(4, 0.2, .exponential).with { $0.failing = 0.5 }, of: 10),
    fault("refused for 60 s", .one, UpstreamModel(service: .refusing), load: 20, of: 20, isWindowAfter: true),
    fault(
      "hung for 30 s", .one, UpstreamModel(service: .hanging), seconds: 30, load: 20, of: 20, isWindowAfter: true),
    fault(
      "hung for 30 s, caller timeout of 30 s", .one, UpstreamModel(service: .hanging), seconds: 30, load: 20, of: 20,
      isWindowAfter: true, .seconds(30)),
    Workload(
      name: "pauses of 0.5 s",
      upstream: [(0, .four)]
        + stride(from: 5.0, to: 55, by: 10).flatMap { [($0, .four.with { $0.service = .pausing }), ($0 + 0.5, .four)] },
      load: [(0, 28)], seconds: 60, window: 2..<60, best: 28),
    Workload(
      name: "30 % fast 503", upstream: [(0, .four), (10, .four.with { $0.failingFast = 0.3 })], load: [(0, 30)],
      seconds: 60, window: 10..<60, best: 21),
  ]

  private static func step(
    _ name: String, from before: UpstreamModel = .one, _ after: UpstreamModel,
    load: [(from: Double, perSecond: Double)],
    _ callerTimeout: TimeoutModel = .seconds(2), at time: Double = 20, of best: Double
  ) -> Workload {
    Workload(
      name: name, upstream: [(0, before), (time, after)], load: load, seconds: 80, window: time..<80, best: best,
      callerTimeout: callerTimeout)
  }

  static let steps = [
    step("25 ms to 250 ms, ten servers", .queue(10, 0.25), load: [(0, 30)], of: 30),
    step("overload, then 250 ms, ten servers", .queue(10, 0.25), load: [(0, 60), (20, 32)], of: 32),
    step(
      "overload, then four times the time and servers", from: .four, .queue(16, 0.4, .exponential),
      load: [(0, 60), (20, 32)], of: 32),
    step("25 ms to 1 s, 40 servers", .queue(40, 1), load: [(0, 30)], .seconds(5), of: 30),
    step("25 ms to 1 s, 40 servers, caller timeout of 2 s", .queue(40, 1), load: [(0, 30)], of: 30),
    step("overload, then 1 s, 40 servers", .queue(40, 1), load: [(0, 60), (20, 30)], .seconds(5), of: 30),
    step(
      "overload, then 1 s, 40 servers, exponential", from: .four, .queue(40, 1, .exponential),
      load: [(0, 60), (20, 30)],
      .seconds(5), of: 30),
    step("250 ms to 25 ms at 1.5x", from: .queue(10, 0.25), .one, load: [(0, 60)], at: 30, of: 40),
  ]

  static let burst = Workload(
    name: "burst of ten times for a second", upstream: [(0, .one)], load: [(0, 20), (20, 200), (21, 20)], seconds: 40,
    window: 20..<26, best: 40)

  static let ramp = Workload(
    name: "back at a fifth of its capacity",
    upstream: [(0, .one), (5, UpstreamModel(service: .refusing)), (10, .one.with { $0.ramp = 10 })], load: [(0, 30)],
    seconds: 40, window: 10..<20, best: 22, faultEnd: 20)
}
