import Testing

@testable import WeirResolver

/// The meaning of SRV records.
@Suite struct ServiceTargetsTests {
  private func record(_ target: String, _ priority: UInt16, _ weight: UInt16, port: UInt16 = 80) -> ServiceRecord {
    ServiceRecord(target: target, port: port, priority: priority, weight: weight)
  }

  @Test func prioritiesAreRanked() {
    let targets = ServiceTargets([record("b", 500, 1), record("a", 20, 1), record("c", 500, 1), record("d", 65535, 1)])
    #expect(targets.places.mapValues { $0.map(\.priority) } == ["a": [0], "b": [1], "c": [1], "d": [2]])
  }

  @Test func ranksBeyondTheTenthShareNine() {
    let targets = ServiceTargets((0..<13).map { record("t\($0)", UInt16($0 * 7), 1) })
    let ranks = (0..<13).map { targets.places["t\($0)"]?.first?.priority }
    #expect(ranks == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9])
  }

  @Test func weightZeroCountsAsOne() {
    let targets = ServiceTargets([record("a", 0, 0), record("b", 0, 65535)])
    #expect(targets.places.mapValues { $0.map(\.weight) } == ["a": [1], "b": [65535]])
  }

  @Test func oneTargetHasEachPortOnce() {
    let targets = ServiceTargets([
      record("A.Test.", 2, 5, port: 81), record("a.test", 1, 5, port: 80), record("a.test", 1, 9, port: 80),
      record("a.test", 2, 99, port: 80),
    ])
    #expect(targets.places.keys.sorted() == ["a.test"])
    #expect(targets.places["a.test"]?.map(\.port) == [80, 81])
    #expect(targets.places["a.test"]?.map(\.weight) == [9, 5])
  }

  @Test(arguments: ["", ".", "a b", "a\\.b", "a\r\nHost: b", "é.test", "a/b", String(repeating: "a", count: 254)])
  func targetsThatAreNoHostAreLeftOut(_ target: String) {
    #expect(ServiceTargets([record(target, 0, 1)]).places.isEmpty)
  }

  @Test func leftOutTargetsTakeNoRank() {
    #expect(ServiceTargets([record(".", 0, 1), record("a", 5, 1)]).places["a"]?.first?.priority == 0)
  }
}
