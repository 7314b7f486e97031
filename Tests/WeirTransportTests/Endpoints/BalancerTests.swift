import Testing
import WeirIO

@testable import WeirTransport

@Suite("Balancer", .timeLimit(.minutes(5))) struct BalancerTests {
  // MARK: Priorities and health

  @Test func anEmptySetHasNothingToPick() {
    let line = EndpointLine(0)
    #expect(line.pick() == nil)
    line.update([EndpointLine.spec(0)])
    #expect(line.pick()?.name == name(0))
    line.update([])
    #expect(line.pick() == nil)
  }

  @Test func aHigherNumberServesOnlyWhileNoneOfALowerIsAvailable() {
    let line = EndpointLine([.p(0, 0), .p(1, 0), .p(2, 1), .p(3, 9)])
    #expect(line.picked() == [name(0), name(1)])
    line.check(0, good: false, times: 3)
    #expect(line.picked() == [name(1)])
    line.check(1, good: false, times: 3)
    #expect(line.picked() == [name(2)])
    line.check(2, good: false, times: 3)
    #expect(line.picked() == [name(3)])
    line.check(3, good: false, times: 3)
    #expect(line.picked() == [name(0), name(1)], "health never refuses a request")
    line.check(3, good: true, times: 2)
    #expect(line.picked() == [name(3)])
  }

  @Test(arguments: [EndpointSettings.Balance.leastRequests, .roundRobin, .consistentHash()])
  func unhealthyEndpointsGetNothing(_ balance: EndpointSettings.Balance) {
    let line = EndpointLine(4, EndpointSettings(balance: balance))
    for index in 0..<3 { line.check(index, good: false, times: 3) }
    for key in 0..<200 { #expect(line.pick(key: UInt64(key))?.name == name(3)) }
    line.check(3, good: false, times: 3)
    let all = Set((0..<400).compactMap { line.pick(key: $0)?.name })
    #expect(all.count == 4)
  }

  @Test func belowThePanicThresholdHealthIsIgnored() {
    let line = EndpointLine([.p(0, 0), .p(1, 0), .p(2, 0), .p(3, 0), .p(4, 1)], EndpointSettings(panicThreshold: 0.5))
    line.check(0, good: false, times: 3)
    line.check(1, good: false, times: 3)
    #expect(line.picked() == [name(2), name(3)])
    line.check(2, good: false, times: 3)
    #expect(line.picked() == [name(0), name(1), name(2), name(3)])
    line.check(3, good: false, times: 3)
    #expect(line.picked() == [name(4)], "none is left, so that the next priority serves")
  }

  // MARK: Tried and full endpoints

  @Test(arguments: [EndpointSettings.Balance.leastRequests, .roundRobin, .consistentHash()])
  func aRetryGoesElsewhereWhileItCan(_ balance: EndpointSettings.Balance) {
    let line = EndpointLine(3, EndpointSettings(balance: balance))
    var tried = TriedEndpoints()
    #expect(tried.isEmpty)
    tried.insert(line[0])
    #expect(line.picked(key: 7, tried: tried).isSubset(of: [name(1), name(2)]))
    line.check(1, good: false, times: 3)
    #expect(line.picked(key: 7, tried: tried) == [name(2)])
    tried.insert(line[2])
    #expect(line.picked(tried: tried) == [name(0), name(2)], "tried ones are better than unhealthy ones")
  }

  /// The lowest priority number first, and then the same again.
  @Test(arguments: [EndpointSettings.Balance.leastRequests, .roundRobin, .consistentHash()])
  func aRetryGoesToTheNextPriorityBeforeItRepeats(_ balance: EndpointSettings.Balance) {
    let line = EndpointLine([.p(0, 0), .p(1, 0), .p(2, 1), .p(3, 2)], EndpointSettings(balance: balance))
    var tried = TriedEndpoints()
    tried.insert(line[0])
    #expect(line.picked(key: 7, tried: tried) == [name(1)])
    tried.insert(line[1])
    #expect(line.picked(key: 7, tried: tried) == [name(2)])
    line.check(2, good: false, times: 3)
    #expect(line.picked(key: 7, tried: tried) == [name(3)])
    tried.insert(line[3])
    #expect(line.picked(tried: tried) == [name(0), name(1)], "of those that were tried, too")
  }

  @Test func aHedgeStaysInItsPriority() {
    let line = EndpointLine([.p(0, 0), .p(1, 1)])
    var tried = TriedEndpoints()
    tried.insert(line[0])
    #expect(line.pick(tried: tried, isHedge: true)?.name == name(0))
    line.check(0, good: false, times: 3)
    #expect(line.pick(tried: tried, isHedge: true)?.name == name(1))
  }

  @Test func theLastEightAreRemembered() {
    let line = EndpointLine(10)
    var tried = TriedEndpoints()
    for index in 0..<10 { tried.insert(line[index]) }
    #expect((0..<10).map { tried.contains(line[$0]) } == [false, false] + [Bool](repeating: true, count: 8))
    #expect(line.picked(tried: tried) == [name(0), name(1)])
  }

  @Test func aFullEndpointIsNotPicked() {
    let line = EndpointLine([.p(0, 0), .p(1, 0), .p(2, 1)], EndpointSettings(connections: 2))
    line.occupy(0, times: 2)
    #expect(line.picked() == [name(1)])
    line.occupy(1, times: 2)
    #expect(line.picked() == [name(2)])
    // The destination's slots decide how many attempts there are in all.
    line.occupy(2, times: 2)
    #expect(line.picked() == [name(0), name(1)])
    line[0].leaves()
    #expect(line.picked() == [name(0)])
  }

  /// One that fails fast would take all that a full one can't.
  @Test func aFullEndpointIsBetterThanAnUnhealthyOne() {
    let line = EndpointLine(2, EndpointSettings(connections: 1))
    line.check(0, good: false, times: 3)
    line.occupy(1)
    #expect(line.picked() == [name(1)])
    line.check(1, good: false, times: 3)
    #expect(line.picked() == [name(0)])
  }

  // MARK: Least requests

  /// Attempts in flight at two endpoints of these weights, and the one that gets the next: nil for either.
  @Test(
    arguments: [
      (1, 1, 3, 2, 1), (1, 1, 2, 3, 0), (1, 1, 2, 2, nil), (2, 1, 2, 3, 0), (2, 1, 2, 2, nil), (2, 1, 6, 2, nil),
      (2, 1, 7, 2, 1), (1000, 1, 0, 0, 0),
    ] as [(Int, Int, Int, Int, Int?)])
  func moreInFlightThanItsShareLoses(_ weight: Int, _ other: Int, _ active: Int, _ others: Int, _ winner: Int?) {
    let line = EndpointLine([.p(0, 0, weight), .p(1, 0, other)])
    line.occupy(0, times: active)
    line.occupy(1, times: others)
    let expected: Set<String> = winner.map { [name($0)] } ?? [name(0), name(1)]
    #expect(line.picked(40) == expected)
  }

  @Test(arguments: [(0.19, true), (0.21, false)]) func atATieTheFirstDrawnUnlessItIsSlow(
    _ seconds: Double, _ isPicked: Bool
  ) {
    let line = EndpointLine(2)
    line.now = 1_000
    line.end(.answered(firstByteAfter: seconds), 0)
    line.end(.answered(firstByteAfter: 0.1), 1)
    #expect(line.picked().contains(name(0)) == isPicked)
    #expect(line.picked().contains(name(1)))
  }

  @Test func anEndpointThatJustFailedDoesNotWinByBeingIdle() {
    let line = EndpointLine(2, EndpointSettings(outlier: nil))
    line.occupy(0, times: 5)
    #expect(line.picked() == [name(1)])
    _ = line.fail(1)
    let share = Double((0..<1000).count { _ in line.pick()?.name == name(1) }) / 1000
    #expect((0.45...0.55).contains(share), "its share by weight and no more: \(share)")
    line.end(.answered(firstByteAfter: 0.01), 1)
    #expect(line.picked() == [name(1)])
  }

  // MARK: Round robin

  @Test func theTurnIsNginxsSmoothOne() {
    let line = EndpointLine([.p(0, 0, 5), .p(1, 0, 1), .p(2, 0, 1)], EndpointSettings(balance: .roundRobin))
    let order = (0..<14).compactMap { _ in line.pick()?.name.dropFirst(7).prefix(1) }.joined()
    #expect("00102000010200001020000102000".contains(order), "\(order)")
  }

  @Test func workersBeginAtDifferentPlaces() {
    let line = EndpointLine(100, EndpointSettings(balance: .roundRobin))
    let first = (0..<20).compactMap { seed in
      var picker = EndpointPicker(line.set, seed: UInt64(seed))
      return picker.pick(at: line.time)?.name
    }
    #expect(Set(first).count > 10)
  }

  @Test func theTurnOfOneThatIsOutIsSpread() {
    let line = EndpointLine(5, EndpointSettings(balance: .roundRobin))
    line.check(2, good: false, times: 3)
    var counts: [String: Int] = [:]
    for _ in 0..<4000 { counts[line.pick()?.name ?? "", default: 0] += 1 }
    #expect(counts.count == 4)
    #expect(counts.values.allSatisfy { (900...1100).contains($0) }, "\(counts)")
  }

  // MARK: Consistent hash

  @Test func aKeyStaysAtItsEndpoint() {
    let line = EndpointLine(10, EndpointSettings(balance: .consistentHash(factor: nil)))
    let first = (0..<100).map { line.pick(key: $0)?.name }
    var other = EndpointPicker(line.set, seed: 99)
    #expect((0..<100).map { other.pick(key: $0, at: line.time)?.name } == first)
    #expect(Set(first).count == 10)
    #expect(line.picked().count == 10, "without a key requests go by leastRequests")
  }

  @Test func anOverloadedEndpointPassesOn() throws {
    let line = EndpointLine(4, EndpointSettings(balance: .consistentHash(factor: 1.25)))
    let own = try #require(line.pick(key: 7))
    for index in 0..<4 { line.occupy(index, times: 8) }
    for _ in 0..<3 { own.begins() }
    #expect(line.pick(key: 7) === own, "12 of 36 are 1.25 × a quarter, rounded up")
    own.begins()
    let other = try #require(line.pick(key: 7))
    #expect(other !== own)
    #expect(line.pick(key: 7) === other, "the next key has an endpoint of its own")
  }

  // MARK: Slow start

  @Test func theWeightGrowsFromATenth() {
    let line = EndpointLine(1)
    line.now = 5
    line.update([.p(0, 0), .p(1, 0)])
    for (seconds, share) in [(0.0, 0.1), (5, 0.55), (10, 1)] {
      line.now = 5 + seconds
      let count = (0..<4000).count { _ in line.pick()?.name == name(1) }
      // The first drawn gets the request: a part of the draws by weight.
      let expected = share / (1 + share)
      #expect(abs(Double(count) / 4000 - expected) < 0.03, "\(seconds): \(count)")
      #expect(line.state(1) == (seconds < 10 ? .slowStart : .available))
    }
  }

  @Test func keysComeBackOneAfterTheOther() {
    let line = EndpointLine(10, EndpointSettings(balance: .consistentHash(factor: nil)))
    let home = (0..<2000).map { line.pick(key: $0)?.name }
    line.eject(3)
    line.now = 12
    _ = line.set.ended(.answered(firstByteAfter: 0.01), of: line[3], began: line.time, at: line.time)
    var before: Set<UInt64> = []
    for part in [0.1, 0.4, 0.7, 1] {
      line.now = 12 + (part - 0.1) / 0.9 * 10
      let back = Set((0..<2000).filter { line.pick(key: $0)?.name == name(3) && home[Int($0)] == name(3) } as [UInt64])
      #expect(before.isSubset(of: back))
      #expect(abs(Double(back.count) / Double(home.count { $0 == name(3) }) - part) < 0.1)
      before = back
    }
  }
}

extension EndpointSpec {
  fileprivate static func p(_ number: Int, _ priority: Int, _ weight: Int = 1) -> EndpointSpec {
    EndpointLine.spec(number, weight: weight, priority: priority)
  }
}
