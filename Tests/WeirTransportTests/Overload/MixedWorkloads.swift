@testable import WeirTransport

extension Workload {
  func with(_ name: String, _ change: (inout Workload) -> Void) -> Workload {
    var workload = Workload(
      name: "\(self.name), \(name)", upstream: upstream, load: load, seconds: seconds, window: window, best: best,
      callerTimeout: callerTimeout, faultEnd: faultEnd, priorities: priorities)
    change(&workload)
    return workload
  }

  private static func helped(_ name: String) -> Workload {
    guard var workload = helped.first(where: { $0.name == name }) else { preconditionFailure("no workload \(name)") }
    if workload.faultEnd == nil { workload.window = 10..<workload.window.upperBound }
    return workload
  }

  /// Overloads that gateways with controls of their own share.
  static let shared = [
    "1.5x, one server", "3x, one server", "1.5x, 4 servers, exponential", "3x, 4 servers, exponential",
    "half the capacity", "half of 4 servers", "brown-out", "brown-out of 4 servers",
  ].map(helped)

  static func gateways(_ count: Int, _ workload: Workload) -> Workload {
    workload.with("\(count) gateways") { $0.gateways = count }
  }

  /// Workloads of which several gateways must not refuse anything either.
  static let sharedHealthy = harmless.filter { $0.name.hasPrefix("90 % load") }

  static let announced = ["1.5x, one server", "1.5x, mixed caller timeouts", "half the capacity"].map {
    helped($0).with("announced") { $0.announcesTimeout = true }
  }

  static let retried = ["1.5x, one server", "3x, one server", "half the capacity", "brown-out", "30 % fast 503"].map {
    helped($0).with("three retries") { $0.retries = 3 }
  }

  static let uploading =
    ["1.5x, one server", "half the capacity"].map { helped($0).with("half uploads") { $0.uploads = 0.5 } }
    + harmless.filter { $0.name.hasPrefix("80 %") || $0.name.hasPrefix("50 %") }.map {
      $0.with("half uploads") { $0.uploads = 0.5 }
    }

  /// Each hedge is work for the upstream.
  static let hedged = ["1.5x, one server", "half of 4 servers", "overload, then 250 ms, ten servers"].map {
    helped($0).with("hedges") { $0.hedgeAfter = 0.3 }
  }

  static let twoOverloads = Workload(
    name: "two overloads, minutes apart", upstream: [(0, .one)],
    load: [(0, 20), (20, 60), (60, 0.0001), (300, 20), (320, 60)], seconds: 380, window: 330..<380, best: 40)

  /// One overload after another of an upstream that answers one request at a time, and nothing between them.
  static let oneOverloadAfterAnother: Workload = {
    var load: [(from: Double, perSecond: Double)] = [(0, 5)]
    for number in 0..<6 {
      let begin = 20 + 100 * Double(number)
      load += [(begin, 40), (begin + 40, 0.0001)]
    }
    return Workload(
      name: "one overload after another", upstream: [(0, .queue(1, 0.05))], load: load, seconds: 560,
      window: 530..<560, best: 20)
  }()

  /// An upstream that fails each request at once, which is no reason to control it.
  static let failingAtOnce = [(503, 0), (503, 3), (429, 0)].map { status, retries in
    let failing = UpstreamModel.one.with { ($0.failingFast, $0.fastStatus) = (1, status) }
    return Workload(
      name: "\(status) at once, \(retries) retries", upstream: [(0, .one), (10, failing), (70, .one)], load: [(0, 30)],
      seconds: 100, window: 75..<100, best: 30, faultEnd: 70, retries: retries)
  }
}
