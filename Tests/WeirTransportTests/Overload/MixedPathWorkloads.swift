@testable import WeirTransport

extension Workload {
  /// Workloads in which a control can only do harm, since the upstream is well: callers of a slow path leave by nature,
  /// or an upstream that had ceased to answer has long been well again.
  static let harmlessPaths: [Workload] = leaversByNature + slowPaths + idleness + lulls

  private static let unlimited = UpstreamModel.queue(512, 0.01)

  private static func leavers(
    _ name: String, _ share: Double, _ change: (inout Workload) -> Void = { _ in }
  ) -> Workload {
    var workload = Workload(
      name: name, upstream: [(0, unlimited)], load: [(0, 30)], seconds: 140, window: 0..<120, best: 30,
      callerTimeout: .seconds(20))
    workload.paths = [
      Path(share: share / 2, seconds: 2, callerTimeout: 1), Path(share: share / 2, seconds: 2, callerTimeout: 20),
    ]
    change(&workload)
    return workload
  }

  private static let leaversByNature = [
    leavers("half of a slow fifth leave", 0.2),
    leavers("half of a slow third leave", 0.3),
    leavers("half of a slow half leave", 0.5),
    leavers("half of a slow majority leave", 0.7),
    leavers("half of a slow third leave, after fast answers", 0.3) {
      $0.paths = $0.paths.map { Path(share: $0.share, during: 40..<140, seconds: 2, callerTimeout: $0.callerTimeout) }
    },
    Workload(
      name: "callers who leave by nature, after an overload", upstream: [(0, .one)],
      load: [(0, 20), (20, 60), (50, 20)],
      seconds: 140, window: 75..<120, best: 20, callerTimeout: .seconds(2),
      paths: [Path(share: 0.1, seconds: 2, callerTimeout: 1), Path(share: 0.1, seconds: 2, callerTimeout: 20)]),
  ]

  /// For the control an overload, until a lower limit has not made answers faster.
  static let slowOnly = leavers("half leave of slow answers alone, after fast ones", 1) {
    $0.paths = $0.paths.map { Path(share: $0.share, during: 40..<140, seconds: 2, callerTimeout: $0.callerTimeout) }
    $0.window = 100..<120
  }

  private static func slowPath(_ name: String, _ perSecond: Double, _ slow: Double, isTimeout: Bool = false) -> Workload
  {
    Workload(
      name: name, upstream: [(0, unlimited)], load: [(0, perSecond), (40, perSecond + slow), (80, perSecond)],
      seconds: 120, window: 40..<115, best: perSecond, callerTimeout: .seconds(5),
      paths: [
        Path(share: slow / (perSecond + slow), during: 40..<80, seconds: 3, callerTimeout: 1, isTimeout: isTimeout)
      ])
  }

  private static let slowPaths = [
    slowPath("one client's timeout at a slow path", 20, 4),
    slowPath("a route's timeout at a slow path", 20, 4, isTimeout: true),
    slowPath("more timeouts at a slow path than fast answers", 4, 5),
    Workload(
      name: "eight leave a slow path at once, then a burst", upstream: [(0, unlimited)],
      load: [(0, 20), (40, 800), (40.01, 20), (43.9, 4_000), (43.91, 20)], seconds: 70, window: 43..<45, best: 40,
      callerTimeout: .seconds(20),
      paths: [
        Path(share: 1, during: 40..<40.01, seconds: 3, callerTimeout: 1),
        Path(share: 1, during: 43.9..<43.91, seconds: 0.1, callerTimeout: 20),
      ]),
  ]

  private static func idle(_ seconds: Double) -> Workload {
    Workload(
      name: "a burst \(Int(seconds)) s after a silence",
      upstream: [(0, unlimited), (8, UpstreamModel(service: .hanging)), (14, .queue(512, 0.3))],
      load: [(0, 20), (14, 0.000_1), (14 + seconds, 6_000), (14.01 + seconds, 0.000_1)], seconds: 20 + seconds,
      window: 14 + seconds..<16 + seconds, best: 40, callerTimeout: .seconds(20),
      paths: [Path(share: 1, during: 8..<14, callerTimeout: 1)])
  }

  private static let idleness = [
    idle(45), idle(150),
    Workload(
      name: "a burst after losses and idleness", upstream: [(0, unlimited), (100, .queue(512, 0.2))],
      load: [(0, 20), (40, 24), (60, 0.000_1), (150, 6_000), (150.01, 0.000_1)], seconds: 160, window: 149..<152,
      best: 40, callerTimeout: .seconds(20),
      paths: [Path(share: 1.0 / 6, during: 40..<60, seconds: 3, callerTimeout: 1)]),
    Workload(
      name: "a burst after an overload and idleness", upstream: [(0, .one), (80, .queue(512, 0.2))],
      load: [(0, 20), (10, 80), (40, 0.000_1), (100, 6_000), (100.01, 0.000_1)], seconds: 110, window: 99..<102,
      best: 40, callerTimeout: .seconds(20), paths: [Path(share: 1, during: 0..<90, callerTimeout: 1)]),
  ]

  private static func lull(_ name: String, _ paths: [Path]) -> Workload {
    Workload(
      name: name, upstream: [(0, unlimited)], load: [(0, 20), (10, 4)], seconds: 60, window: 0..<40, best: 20,
      callerTimeout: .seconds(20), paths: paths)
  }

  private static let lulls = [
    lull("only long polls after fast answers", [Path(share: 1, during: 10..<60, seconds: 20, callerTimeout: 60)]),
    lull(
      "only long polls after fast answers, a third leave",
      [
        Path(share: 0.33, during: 10..<60, seconds: 20, callerTimeout: 3),
        Path(share: 0.67, during: 10..<60, seconds: 20, callerTimeout: 60),
      ]),
    Workload(
      name: "three leave before the first answer", upstream: [(0, unlimited)], load: [(0, 4)], seconds: 60,
      window: 0..<40, best: 4, callerTimeout: .seconds(20),
      paths: [
        Path(share: 0.05, during: 0..<5, seconds: 25, callerTimeout: 0.5),
        Path(share: 0.05, during: 5..<10, seconds: 25, callerTimeout: 0.001),
        Path(share: 1, seconds: 25, callerTimeout: 60),
      ]),
    Workload(
      name: "25 ms to 5 s, patient", upstream: [(0, .queue(512, 0.025)), (20, .queue(512, 5))], load: [(0, 20)],
      seconds: 60, window: 20..<50, best: 20, callerTimeout: .seconds(60)),
  ]
}
