import Synchronization
import Testing
import WeirIO

@testable import WeirTransport

@Suite("Waiters of a pace") struct PaceGateTests {
  /// Counts what became of a waiter.
  private final class Heard: Sendable {
    let words = Mutex<[String]>([])
    let released = Atomic(0)

    var taken: [String] { words.withLock { $0 } }
  }

  private final class Token: Sendable {
    let heard: Heard

    init(_ heard: Heard) { self.heard = heard }

    deinit { heard.released.add(1, ordering: .relaxed) }
  }

  private let heard = Heard()

  private func waiter(_ name: String) -> PaceGate.Waiter {
    let token = Token(heard)
    return { refusal in token.heard.words.withLock { $0.append("\(name) \(refusal?.reason.rawValue ?? "goes")") } }
  }

  private func wait(
    _ gate: inout PaceGate, _ name: String, timeout: Double? = nil, at seconds: Double
  ) throws -> PaceGate.Ticket {
    let arrival = gate.arrived(priority: 3, timeout: timeout, isRetry: false, at: at(seconds)) { waiter(name) }
    guard case .waits(let ticket) = arrival else {
      Issue.record("\(name): \(arrival)")
      throw CancellationError()
    }
    return ticket
  }

  private func tell(_ answers: [PaceGate.Answer]) { for answer in answers { answer.waiter(answer.refusal) } }

  @Test func eachWaiterHearsOnceAndIsReleased() throws {
    var gate = PaceGate(PaceSettings(exactRate: 1, wait: 2), at: at(0))
    guard case .goes = gate.arrived(priority: 3, timeout: nil, isRetry: false, at: at(0), { waiter("first") }) else {
      Issue.record("the first waits")
      return
    }
    #expect(heard.released.load(ordering: .relaxed) == 0, "no waiter was made")
    _ = try wait(&gate, "a", at: 0)
    let left = try wait(&gate, "b", at: 0)
    tell(gate.answers(at: at(0.5)))
    #expect(heard.taken == [])
    #expect(gate.leave(left, at: at(0.5)) != nil)
    #expect(gate.leave(left, at: at(0.5)) == nil)
    _ = try wait(&gate, "c", timeout: 1.6, at: 0.5)
    tell(gate.answers(at: at(1)))
    #expect(heard.taken == ["a goes"])
    gate.machine.answered(nil, pause: 5, at: at(1.5))
    tell(gate.answers(at: at(2.1)))
    #expect(heard.taken == ["a goes", "c paused"])
    #expect(heard.released.load(ordering: .relaxed) == 3)
  }

  @Test func aTurnThatIsLeftGoesToTheNext() throws {
    var gate = PaceGate(PaceSettings(exactRate: 1), at: at(0))
    guard
      case .goes(let first) = gate.arrived(priority: 3, timeout: nil, isRetry: false, at: at(0), { waiter("first") })
    else {
      Issue.record("the first waits")
      return
    }
    _ = try wait(&gate, "a", at: 0)
    #expect(gate.leave(first, at: at(0.2)) == nil)
    tell(gate.answers(at: at(0.2)))
    #expect(heard.taken == ["a goes"])
  }

  @Test func pausesAreReportedUntilTheyAreOver() {
    var gate = PaceGate(PaceSettings(), at: at(0))
    #expect(gate.takeReport(at: at(0)) == nil)
    gate.machine.answered(nil, pause: 4, at: at(0))
    #expect(gate.takeReport(at: at(0)) == PauseReport(left: 4, begun: 1))
    #expect(gate.takeReport(at: at(1)) == PauseReport(left: 3, begun: 0))
    gate.machine.answered(nil, pause: 4, at: at(2))
    #expect(gate.takeReport(at: at(2)) == PauseReport(left: 4, begun: 0))
    #expect(gate.takeReport(at: at(6)) == PauseReport(left: 0, begun: 0))
    #expect(gate.takeReport(at: at(7)) == nil)
    gate.machine.answered(nil, pause: 1, at: at(8))
    gate.machine.answered(nil, pause: 1, at: at(9.5))
    #expect(gate.takeReport(at: at(20)) == PauseReport(left: 0, begun: 2))
    #expect(gate.takeReport(at: at(20)) == nil)
  }

  @Test func refusalsAreReported() throws {
    var gate = PaceGate(PaceSettings(exactRate: 1, wait: 1.5), at: at(0))
    func refuse(at seconds: Double) {
      let arrival = gate.arrived(priority: 3, timeout: nil, isRetry: false, at: at(seconds)) { waiter("refused") }
      guard case .refused = arrival else {
        Issue.record("\(arrival)")
        return
      }
    }
    _ = gate.arrived(priority: 3, timeout: nil, isRetry: false, at: at(0)) { waiter("first") }
    _ = try wait(&gate, "a", at: 0)
    #expect(gate.takeReport(at: at(0)) == nil, "it waits")
    refuse(at: 0)
    refuse(at: 0.1)
    #expect(gate.takeReport(at: at(0.2)) == PauseReport(left: 0, begun: 0, refused: 2))
    #expect(gate.takeReport(at: at(0.2)) == nil, "they are told once")
    gate.machine.answered(nil, pause: 4, at: at(0.5))
    tell(gate.answers(at: at(1.5)))
    #expect(heard.taken == ["a paused"])
    #expect(gate.takeReport(at: at(1.5)) == PauseReport(left: 3, begun: 1, refused: 1))
    refuse(at: 2)
    #expect(gate.takeReport(at: at(2.5)) == PauseReport(left: 2, begun: 0, refused: 1))
  }
}
