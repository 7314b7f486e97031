/// What came of a workload.
struct SimulationResult: Sendable {
  /// Good answers per second that came in the window.
  let good: Double
  /// The same ÷ what the upstream could have given, at most 1.
  let ofBest: Double
  /// Good answers ÷ requests of the window.
  let share: Double
  /// Refused requests ÷ requests of the window.
  let refused: Double
  /// Seconds after which half of those that were refused have heard of it.
  let refusedAfter: Double
  /// Seconds after which a request gets its good answer.
  let median: Double
  let percentile99: Double
  /// Attempts per request.
  let attempts: Double
  /// Seconds from the end of the fault until three seconds begin of which each has 95 % good answers.
  let recovery: Double?
  /// When the last request was refused.
  let lastRefusal: Double?
  /// When the control first left the free mode.
  let controlled: Double?
  /// The share of good answers by priority.
  let byPriority: [Int: Double]
  let requests: [Simulation.Request]

  init(_ workload: Workload, _ control: Simulation.Control, seed: UInt64) {
    var simulation = Simulation(workload, control, seed: seed)
    simulation.run()
    self.init(simulation)
  }

  init(_ simulation: Simulation) {
    let (workload, requests) = (simulation.workload, simulation.requests)
    let window = workload.window
    let seconds = window.upperBound - window.lowerBound
    let inWindow = requests.filter { window.contains($0.arrived) }
    let count = Double(max(1, inWindow.count))
    let refusals = inWindow.filter { $0.state == .refused }
    let answers = inWindow.filter(\.isGood)
    good = Double(requests.filter { $0.isGood && window.contains($0.ended ?? -1) }.count) / seconds
    ofBest = min(1, good / min(workload.best, count / seconds))
    share = Double(answers.count) / count
    refused = Double(refusals.count) / count
    refusedAfter = Self.quantile(refusals.map { ($0.ended ?? 0) - $0.arrived }, 0.5)
    median = Self.quantile(answers.map { ($0.ended ?? 0) - $0.arrived }, 0.5)
    percentile99 = Self.quantile(answers.map { ($0.ended ?? 0) - $0.arrived }, 0.99)
    attempts = Double(requests.filter { $0.sent != nil }.count) / Double(max(1, requests.count))
    recovery = workload.faultEnd.flatMap { Self.recovery(requests, from: $0, until: workload.seconds - 3) }
    lastRefusal = requests.compactMap { $0.state == .refused ? $0.ended : nil }.max()
    controlled = simulation.controlled
    byPriority = Dictionary(grouping: inWindow, by: \.priority).mapValues {
      Double($0.filter(\.isGood).count) / Double($0.count)
    }
    self.requests = requests
  }

  /// Good answers per second that came in a time.
  func good(in window: Range<Double>) -> Double {
    Double(requests.filter { $0.isGood && window.contains($0.ended ?? -1) }.count)
      / (window.upperBound - window.lowerBound)
  }

  private static func quantile(_ values: [Double], _ share: Double) -> Double {
    values.isEmpty ? 0 : values.sorted()[min(values.count - 1, Int(share * Double(values.count)))]
  }

  private static func recovery(_ requests: [Simulation.Request], from begin: Double, until end: Double) -> Double? {
    func isGood(_ time: Double) -> Bool {
      let second = requests.filter { (time..<time + 1).contains($0.arrived) }
      return Double(second.filter(\.isGood).count) >= 0.95 * Double(second.count)
    }
    var time = begin
    while time < end {
      if (0..<3).allSatisfy({ isGood(time + Double($0)) }) { return time - begin }
      time += 0.25
    }
    return nil
  }
}
