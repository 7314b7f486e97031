import Testing

@testable import WeirCurl

/// Who may look up which name; waiters are numbers.
@Suite
struct LookupGateTests {
  /// What is expected of a value is worked out in closures that can't change one.
  private final class Gate {
    private var gate: LookupGate<Int>

    init(limit: Int) { gate = LookupGate(limit: limit) }

    var running: Int { gate.running }
    func begin(_ name: String) -> Bool { gate.begin(name) }
    func wait(_ waiter: Int, for name: String) -> UInt64 { gate.wait(waiter, for: name) }
    func leave(_ ticket: UInt64, for name: String) { gate.leave(ticket, for: name) }
    func end(_ name: String) -> [Int] { gate.end(name) }
    func next() -> Int? { gate.next() }
  }

  @Test
  func oneLookupPerName() {
    let gate = Gate(limit: 8)
    #expect(gate.begin("a"))
    #expect(!gate.begin("a"))
    #expect(gate.begin("b"))
    #expect(gate.running == 2)
    for waiter in 1...5 { _ = gate.wait(waiter, for: "a") }
    #expect(gate.next() == nil, "who waits for the end of a lookup waits for no place")
    #expect(gate.end("b") == [])
    #expect(gate.end("a") == [1, 2, 3, 4, 5])
    #expect(gate.running == 0)
    #expect(gate.begin("a"))
  }

  @Test
  func namesGetPlacesInTheirOrder() {
    let gate = Gate(limit: 2)
    #expect(gate.begin("a") && gate.begin("b"))
    #expect(!gate.begin("c"))
    for (waiter, name) in [(1, "c"), (2, "d"), (3, "c"), (4, "e")] { _ = gate.wait(waiter, for: name) }
    #expect(gate.next() == nil)
    #expect(gate.end("a") == [])
    #expect(gate.next() == 1)
    #expect(gate.next() == nil, "the place counts from then on")
    #expect(!gate.begin("f"), "no newcomer takes it")
    #expect(gate.end("c") == [3], "the name's other waiters wait for the lookup that the first got")
    #expect(gate.end("b") == [])
    #expect(gate.next() == 2)
    #expect(gate.next() == 4)
    #expect(gate.next() == nil)
    #expect(gate.running == 2)
  }

  @Test
  func whoLeavesIsNotServed() {
    let gate = Gate(limit: 1)
    #expect(gate.begin("a"))
    let tickets = [
      (gate.wait(1, for: "a"), "a"), (gate.wait(2, for: "a"), "a"), (gate.wait(3, for: "b"), "b"),
      (gate.wait(4, for: "b"), "b"), (gate.wait(5, for: "c"), "c"),
    ]
    for index in [0, 2, 4] { gate.leave(tickets[index].0, for: tickets[index].1) }
    #expect(gate.end("a") == [2])
    #expect(gate.next() == 4)
    #expect(gate.end("b") == [])
    #expect(gate.next() == nil)
    gate.leave(tickets[1].0, for: "a")
    #expect(gate.running == 0)
  }

  /// A name whose waiters have left and that is asked for again is served once.
  @Test
  func namesThatComeAndGo() {
    let gate = Gate(limit: 1)
    #expect(gate.begin("a"))
    for round in 0..<1000 { gate.leave(gate.wait(round, for: "b\(round % 10)"), for: "b\(round % 10)") }
    _ = gate.wait(1, for: "b3")
    _ = gate.wait(2, for: "b3")
    #expect(gate.end("a") == [])
    #expect(gate.next() == 1)
    #expect(gate.next() == nil)
    #expect(gate.end("b3") == [2])
    #expect(gate.next() == nil)
  }

  @Test
  func thereIsAlwaysOnePlace() {
    let gate = Gate(limit: 0)
    #expect(gate.begin("a"))
    #expect(!gate.begin("b"))
  }
}
