import Testing

@testable import WeirGateway

@Suite struct GateTests {
  @Test func placesAreTakenAndGivenBack() {
    let gate = Gate(limit: 2)
    #expect([gate.enter(), gate.enter(), gate.enter()] == [true, true, false])
    gate.leave()
    #expect([gate.enter(), gate.enter()] == [true, false])
  }

  @Test func aGateIsCrowdedBeforeItIsFull() {
    let gate = Gate(limit: 4)
    var entered: [Bool] = [], crowded: [Bool] = []
    for _ in 0..<5 {
      entered.append(gate.enter())
      crowded.append(gate.isCrowded)
    }
    #expect(entered == [true, true, true, true, false])
    #expect(crowded == [false, false, true, true, true])
    gate.leave()
    #expect([gate.enter(), gate.enter()] == [true, false])
  }

  /// Requests of the configuration before may still be inside.
  @Test func aReloadKeepsTheGatesThatStay() {
    let gates = Gates<String>()
    let first = gates.follow(["a": 1, "b": 1]), second = gates.follow(["a": 1])
    #expect(first["a"] === second["a"])
    #expect(second.count == 1)
    #expect(gates.follow(["b": 1])["b"] !== first["b"])
  }

  @Test func aReloadMayChangeALimit() {
    let gates = Gates<String>()
    let first = gates.follow(["a": 2])
    #expect(first["a"]?.enter() == true)
    let second = gates.follow(["a": 1])
    #expect(second["a"] === first["a"])
    #expect(second["a"]?.enter() == false)
  }

  @Test func whatIsInsideCountsWhenItsGateIsBack() {
    let gates = Gates<String>()
    let first = gates.follow(["a": 1])["a"]
    #expect(first?.enter() == true)
    for _ in 0..<2 { #expect(gates.follow([:]).isEmpty) }
    let second = gates.follow(["a": 1])["a"]
    #expect(second?.enter() == false)
    first?.leave()
    #expect(second?.enter() == true)
  }

  @Test func anEmptyGateLeaves() {
    let gates = Gates<String>()
    let first = gates.follow(["a": 1])["a"]
    #expect(gates.follow([:]).isEmpty)
    #expect(gates.follow(["a": 1])["a"] !== first)
  }
}
