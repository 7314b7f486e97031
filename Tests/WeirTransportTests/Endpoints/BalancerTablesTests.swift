import Testing
import WeirIO

@testable import WeirTransport

/// The tables that a balancer makes of names and weights.
@Suite("Balancer's tables", .timeLimit(.minutes(5))) struct BalancerTablesTests {
  @Test(arguments: [[1], [1, 1, 1], [1, 2, 3, 4], [1000, 1], [7, 1, 1, 1, 30, 500]])
  func drawsFollowTheWeights(_ weights: [Int]) {
    let draw = WeightedDraw(weights)
    var random = PickRandom(seed: 5)
    var counts = [Int](repeating: 0, count: weights.count)
    for _ in 0..<100_000 { counts[draw.place(random.next())] += 1 }
    let total = Double(weights.reduce(0, +))
    for (count, weight) in zip(counts, weights) {
      #expect(abs(Double(count) / 100_000 - Double(weight) / total) < 0.005, "\(counts)")
    }
  }

  @Test func aDrawOfNothingIsHarmless() {
    #expect(WeightedDraw([]).place(.max) == 0)
  }

  @Test(
    arguments: [
      ([], []), ([7], [0]), ([4, 4, 4], [0, 1, 2]), ([5, 1, 1], [0, 0, 1, 0, 2, 0, 0]), ([2, 4], [1, 0, 1]),
    ] as [([Int], [UInt32])])
  func sequencesAreSmooth(_ weights: [Int], _ sequence: [UInt32]) {
    #expect(SmoothSequence.make(weights) == sequence)
  }

  /// A turn that would take too long to compute is drawn by weight.
  @Test func anEndlessSequenceIsNone() {
    #expect(SmoothSequence.make((0..<500).map { 501 + $0 }).isEmpty)
    #expect(SmoothSequence.make([Int](repeating: 1000, count: 4096)).count == 4096)
  }

  @Test(arguments: [(1, 1_009), (10, 1_009), (11, 10_007), (100, 10_007), (101, 65_537), (700, 65_537)])
  func theSizeIsTheLeastThatFits(_ count: Int, _ size: Int) {
    let table = MaglevTable(names: (0..<count).map { "e\($0)" }, weights: [Int](repeating: 1, count: count))
    #expect(table.size == size)
  }

  @Test func keysFollowTheWeights() {
    let weights = [1, 2, 3, 4]
    let table = MaglevTable(names: ["a", "b", "c", "d"], weights: weights)
    var counts = [0, 0, 0, 0]
    for key in 0..<40_000 { counts[table.index(of: UInt64(key)) ?? 0] += 1 }
    for (count, weight) in zip(counts, weights) {
      #expect(abs(Double(count) / 40_000 - Double(weight) / 10) < 0.01, "\(counts)")
    }
  }

  @Test func anEmptyTableHasNoEndpoint() {
    #expect(MaglevTable.empty.index(of: 3) == nil)
    #expect(MaglevTable.empty.size == 0)
  }

  /// Instances of other processes and versions have to find the same endpoint.
  @Test func hashesNeverChange() {
    #expect(EndpointKey.hash("".utf8) == 0xCBF2_9CE4_8422_2325)
    #expect(EndpointKey.hash("foobar".utf8) == 0x8594_4171_F739_67E8)
    let table = MaglevTable(names: (0..<10).map(name), weights: [Int](repeating: 1, count: 10))
    let places = (0..<8).map { table.index(of: EndpointKey.hash("account-\($0)".utf8)) }
    #expect(places == [1, 2, 9, 9, 5, 6, 6, 9])
  }
}
