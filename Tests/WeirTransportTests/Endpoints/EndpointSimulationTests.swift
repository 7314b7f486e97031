import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// Seeded simulations with the figures that docs promise.
@Suite("Simulated endpoints", .slow, .timeLimit(.minutes(5))) struct EndpointSimulationTests {
  private static let ten = [EndpointModel](repeating: EndpointModel(), count: 10)

  private static func ten(_ change: (inout EndpointModel) -> Void) -> [EndpointModel] {
    var models = ten
    change(&models[4])
    return models
  }

  // MARK: Shares

  /// The policy, requests per second and weights: from idle endpoints to many attempts in flight at each.
  @Test(arguments: [
    (EndpointSettings.Balance.leastRequests, 2.0, [1]), (.leastRequests, 200, [1]), (.leastRequests, 4_000, [1]),
    (.leastRequests, 2, [1, 2, 3, 4]), (.leastRequests, 100, [1, 2, 3, 4]), (.leastRequests, 4_000, [1, 2, 3, 4]),
    (.roundRobin, 200, [1]), (.roundRobin, 200, [1, 2, 3, 4]),
  ])
  func sharesFollowTheWeights(_ balance: EndpointSettings.Balance, _ rate: Double, _ weights: [Int]) {
    let weights = (0..<10).map { weights[$0 % weights.count] }
    var simulation = EndpointSimulation(
      Self.ten, weights: weights, EndpointSettings(balance: balance, outlier: nil, connections: 8_192), seed: 1)
    simulation.rate = rate
    let result = simulation.run(seconds: 20_000 / rate)
    let total = Double(weights.reduce(0, +))
    for (index, weight) in weights.enumerated() {
      let share = result.share(index)
      #expect(abs(share - Double(weight) / total) < 0.01, "\(index) of \(weights): \(share)")
    }
  }

  /// Requests per second, of which each takes about 50 ms: from less than one in flight to hundreds.
  @Test(arguments: [10.0, 40, 80, 160, 320, 1_300, 5_000], [[1, 3], [5, 95], [1, 2]])
  func ofTwoTheSmallOneGetsItsShare(_ rate: Double, _ weights: [Int]) {
    var simulation = EndpointSimulation(
      [EndpointModel](repeating: EndpointModel(), count: 2), weights: weights,
      EndpointSettings(outlier: nil, connections: 8_192), seed: 7)
    simulation.rate = rate
    let share = simulation.run(seconds: 20_000 / rate).share(0)
    let due = Double(weights[0]) / Double(weights[0] + weights[1])
    #expect(abs(share - due) < 0.02, "\(share) of \(due)")
  }

  /// Requests per second, the policy and the largest share of one that is ten times as slow.
  @Test(arguments: [
    (20.0, EndpointSettings.Balance.leastRequests, 0.03), (200, .leastRequests, 0.03), (1_000, .leastRequests, 0.03),
    (200, .roundRobin, 0.101),
  ])
  func aSlowEndpointGetsLittle(_ rate: Double, _ balance: EndpointSettings.Balance, _ most: Double) {
    var simulation = EndpointSimulation(
      Self.ten { $0.seconds = 0.5 }, EndpointSettings(balance: balance), seed: 2)
    simulation.rate = rate
    simulation.from = 20
    let share = simulation.run(seconds: 20 + 10_000 / rate).share(4)
    #expect(share <= most, "\(share)")
    #expect(share > 0)
  }

  @Test(arguments: [20.0, 500, 4_000], [OutlierSettings(), nil])
  func oneThatFailsAtOnceAttractsNothing(_ rate: Double, _ outlier: OutlierSettings?) {
    var simulation = EndpointSimulation(Self.ten { $0.failing = 1 }, EndpointSettings(outlier: outlier), seed: 3)
    simulation.rate = rate
    let share = simulation.run(seconds: 10_000 / rate).share(4)
    #expect(share <= 0.105, "\(share)")
  }

  /// Also of a larger set with weights.
  @Test(arguments: [(10, [1]), (10, [1, 2]), (50, [1]), (200, [1, 2, 3])])
  func oneEndpointLessMovesFewKeys(_ count: Int, _ weights: [Int]) {
    let settings = EndpointSettings(balance: .consistentHash(factor: nil))
    let specs = (0..<count).map { EndpointLine.spec($0, weight: weights[$0 % weights.count]) }
    let line = EndpointLine(specs, settings)
    let keys = (0..<4_000).map { EndpointKey.hash("key \($0)".utf8) }
    let before = keys.map { line.pick(key: $0)?.name }
    line.update(specs.filter { $0.name != name(4) })
    let moved = zip(keys, before).count { line.pick(key: $0)?.name != $1 }
    let part = Double(specs[4].weight) / Double(specs.reduce(0) { $0 + $1.weight })
    #expect(Double(moved) / 4_000 <= part + 0.05, "\(moved)")
    #expect(moved > 0)
  }

  @Test func aHashOfFewKeysStaysWithinTheFactor() {
    var simulation = EndpointSimulation(Self.ten, EndpointSettings(balance: .consistentHash()), seed: 5)
    simulation.keys = 15
    simulation.rate = 4_000
    let result = simulation.run(seconds: 3)
    for index in 0..<10 { #expect(result.share(index) < 0.135, "\(result.counts)") }
  }

  // MARK: Failures

  @Test(arguments: [100.0, 500], [1, 2, 3] as [UInt64])
  func oneThatFailsOftenIsLeftOut(_ rate: Double, _ seed: UInt64) {
    var simulation = EndpointSimulation(Self.ten { $0.failing = 0.6 }, EndpointSettings(), seed: seed)
    simulation.rate = rate
    simulation.from = 2
    let result = simulation.run(seconds: 30)
    let succeeded = Double(result.succeeded) / Double(result.total)
    #expect(succeeded >= 0.98, "\(succeeded)")
    #expect(!result.events.isEmpty)
  }

  @Test(arguments: [0.9, 1], [1, 2, 3] as [UInt64])
  func whenAllFailFewAreOut(_ failing: Double, _ seed: UInt64) {
    var simulation = EndpointSimulation(
      [EndpointModel](repeating: EndpointModel(failing: failing), count: 10), EndpointSettings(), seed: seed)
    simulation.rate = 200
    let result = simulation.run(seconds: 20)
    #expect(Self.mostEjected(result) <= 5)
  }

  /// As many fail as may be out.
  @Test(arguments: [1, 2, 3] as [UInt64]) func returnsAreSpread(_ seed: UInt64) {
    let models = Self.ten.enumerated().map { EndpointModel(failing: $0.offset % 2 == 0 ? 1 : 0) }
    var simulation = EndpointSimulation(models, EndpointSettings(), seed: seed)
    let result = simulation.run(seconds: 5)
    let returns = result.events.compactMap { seconds, event -> Double? in
      guard case .ejected(_, let length) = event.kind else { return nil }
      return seconds + length
    }
    #expect(returns.count == 5)
    #expect((returns.max() ?? 0) - (returns.min() ?? 0) >= 1, "a tenth of ejectFor: \(returns)")
    #expect(Self.mostEjected(result) == 5)
  }

  /// The most endpoints that were out at once.
  private static func mostEjected(_ result: EndpointSimulation.Result) -> Int {
    var out: Set<String> = []
    var most = 0
    for (_, event) in result.events {
      switch event.kind {
      case .ejected: out.insert(event.endpoint)
      default: out.remove(event.endpoint)
      }
      most = max(most, out.count)
    }
    return most
  }

  @Test func threeOfFourUnhealthyGetNothing() {
    var simulation = EndpointSimulation([EndpointModel](repeating: .init(), count: 4), EndpointSettings(), seed: 6)
    for index in 0..<3 { simulation.line.check(index, good: false, times: 3) }
    #expect(simulation.run(seconds: 3).counts.prefix(3) == [0, 0, 0])
  }

  @Test func allUnhealthyShareTheRequests() {
    var simulation = EndpointSimulation([EndpointModel](repeating: .init(), count: 4), EndpointSettings(), seed: 7)
    for index in 0..<4 { simulation.line.check(index, good: false, times: 3) }
    let result = simulation.run(seconds: 3)
    for index in 0..<4 { #expect(abs(result.share(index) - 0.25) < 0.02) }
  }
}
