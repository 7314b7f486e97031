import Testing
import WeirCurl
import WeirTestSupport

@Suite struct PhaseDurationsTests {
  /// The values of a label: whoever renames a case changes what dashboards and alerts ask for.
  @Test func namesAreThoseOfTheLabel() {
    #expect(
      Phase.allCases.map(\.name)
        == ["queue", "resolve", "connect", "tunnel", "tls", "send", "processing", "transfer", "serialization"])
  }

  @Test func eachPhaseHasAPlaceOfItsOwn() {
    var durations = PhaseDurations()
    for phase in Phase.allCases { durations[phase] = Double(phase.rawValue) }
    #expect(Phase.allCases.map { durations[$0] } == Phase.allCases.indices.map(Double.init))
    durations[.tls] = nil
    #expect(durations[.tls] == nil && durations[.connect] == 2 && durations[.send] == 5)
  }

  @Test(
    arguments: [
      ([:], [:], [:]), ([.send: 1], [:], [.send: 1]), ([:], [.send: 1], [.send: 1]),
      ([.send: 1, .connect: 0], [.send: 2, .tls: 0.5], [.connect: 0, .tls: 0.5, .send: 3]),
    ] as [(PhaseDurations, PhaseDurations, PhaseDurations)])
  func sumsWhatHappened(first: PhaseDurations, second: PhaseDurations, expected: PhaseDurations) {
    var sum = first
    sum.add(second)
    #expect(sum == expected)
    #expect(sum.hashValue == expected.hashValue)
  }

  @Test(
    arguments: [
      (10, [.resolve: 1, .connect: 2, .tls: 3]), (6, [.resolve: 1, .connect: 2, .tls: 3]),
      (5.5, [.resolve: 0.5, .connect: 2, .tls: 3]), (5, [.connect: 2, .tls: 3]), (4, [.connect: 1, .tls: 3]),
      (1, [.tls: 1]), (0, [:]), (-1, [:]),
    ] as [(Double, PhaseDurations)])
  func keepsTheLastSeconds(seconds: Double, expected: PhaseDurations) {
    var durations: PhaseDurations = [.resolve: 1, .connect: 2, .tls: 3]
    durations.keepLast(seconds)
    #expect(durations == expected)
  }

  @Test func whatTookNoTimeIsNotWhatDidNotHappen() {
    #expect([.tls: 0] as PhaseDurations != [:])
  }

  @Test func visitsThoseThatHappenedInTheirOrder() {
    var visited: [String] = []
    ([.transfer: 3, .queue: 1, .send: 0] as PhaseDurations).forEach { visited.append("\($0.name) \($1)") }
    #expect(visited == ["queue 1.0", "send 0.0", "transfer 3.0"])
  }
}
