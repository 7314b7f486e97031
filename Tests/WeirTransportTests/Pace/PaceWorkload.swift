import Testing
import WeirTestSupport

@testable import WeirTransport

/// Callers, an API and the settings of the pace between them.
struct PaceWorkload: Sendable, CustomTestStringConvertible {
  struct Arrivals: Sendable {
    let rate: Double
    /// As many come at once.
    var burst = 1

    /// Seconds until the next come.
    func gap(_ random: inout SeededRandom) -> Double { random.exponential(mean: Double(burst) / rate) }
  }

  let name: String
  var settings = PaceSettings()
  var api = SimulatedAPI.Model()
  var arrivals = Arrivals(rate: 80)
  var seconds = 8.0
  /// The seconds for which callers wait; nil for longer than any wait.
  var timeout: Double?

  var testDescription: String { name }

  init(_ name: String, _ change: (inout PaceWorkload) -> Void) {
    self.name = name
    change(&self)
  }
}

extension PaceWorkload {
  /// A limit of 50/s that is known, and 80/s that want to go there, for a minute.
  static let known: [PaceWorkload] = [
    PaceWorkload("fixed second, known") { $0.isKnown(.fixedSecond(50)) },
    PaceWorkload("sliding second, known") { $0.isKnown(.slidingSecond(50)) },
  ]

  private mutating func isKnown(_ limit: SimulatedAPI.Limit) {
    settings.rate = 50
    api.limit = limit
    seconds = 60
  }

  /// Limits that are found out by their answers. They end after six seconds, and so do troubles.
  static let found: [PaceWorkload] = [
    PaceWorkload("fixed second") { $0.api.limit = .fixedSecond(50) },
    PaceWorkload("sliding second") { $0.api.limit = .slidingSecond(50) },
    PaceWorkload("one under way") { $0.api.limit = .concurrent(1) },
    PaceWorkload("few under way") { $0.api.limit = .concurrent(4) },
    PaceWorkload("fields that tell") {
      $0.api.limit = .fixedSecond(50)
      $0.api.tells = true
    },
    PaceWorkload("slow") {
      $0.api.limit = .slidingSecond(50)
      $0.api.seconds = 0.5
    },
    PaceWorkload("failing") {
      $0.api.limit = .fixedSecond(50)
      $0.api.failing = 0.2
    },
    PaceWorkload("hanging after a pause") {
      $0.api.isDown = 1..<1.1
      $0.api.hangs = 2..<3.5
    },
    PaceWorkload("long Retry-After") {
      $0.api.isDown = 1..<1.2
      $0.api.retryAfter = 4
    },
    PaceWorkload("short Retry-After") {
      $0.api.limit = .fixedSecond(30)
      $0.api.retryAfter = 0.05
    },
    PaceWorkload("no Retry-After") {
      $0.api.limit = .fixedSecond(30)
      $0.api.retryAfter = nil
    },
    PaceWorkload("bursts") {
      $0.api.limit = .fixedSecond(50)
      $0.arrivals = Arrivals(rate: 80, burst: 40)
    },
    PaceWorkload("many wait") {
      $0.api.limit = .slidingSecond(20)
      $0.arrivals = Arrivals(rate: 160, burst: 80)
      $0.settings.wait = 60
    },
    PaceWorkload("impatient callers") {
      $0.api.limit = .fixedSecond(50)
      $0.timeout = 0.3
    },
    PaceWorkload("no wait") {
      $0.api.limit = .fixedSecond(50)
      $0.settings.wait = 0
    },
    PaceWorkload("down for long") { $0.api.isDown = 1..<5 },
  ].map { workload in
    var workload = workload
    workload.api.limitEnds = 6
    workload.seconds = 12
    return workload
  }

  /// A rate beside what the answers say.
  static let both: [PaceWorkload] = [
    PaceWorkload("rate above the limit") {
      $0.settings.rate = 60
      $0.settings.burst = 10
      $0.api.limit = .fixedSecond(50)
    },
    PaceWorkload("rate and bursts") {
      $0.settings.rate = 50
      $0.settings.burst = 20
      $0.api.limit = .slidingSecond(50)
      $0.arrivals = Arrivals(rate: 60, burst: 30)
    },
  ]

  static let all = known + found + both

  /// A pause of five seconds under 200 requests a second.
  static let longPause = PaceWorkload("pause of 5 s") {
    $0.settings = PaceSettings(rate: 500, wait: 10)
    $0.api.isDown = 1..<1.02
    $0.api.retryAfter = 5
    $0.arrivals = Arrivals(rate: 200)
    $0.seconds = 12
  }
}
