import Testing

@testable import Weir

@Suite("Admission")
struct AdmissionTests {
  @Test("Slots first, then the queue in order, then refusal")
  func order() {
    var admission = Admission<String>(slots: 2, maximumWaiting: 2)
    #expect(admission.ask("a") == .admitted)
    #expect(admission.ask("b") == .admitted)
    #expect(admission.ask("c") == .waiting(1))
    #expect(admission.ask("d") == .waiting(2))
    #expect(admission.ask("e") == .queueFull)
    #expect(admission.release()?.waiter == "c")
    #expect(admission.release()?.waiter == "d")
    #expect(admission.release() == nil)
    #expect(admission.taken == 1)
  }

  @Test("A waiter that left is skipped and frees its place")
  func withdraw() {
    var admission = Admission<String>(slots: 1, maximumWaiting: 2)
    #expect(admission.ask("a") == .admitted)
    #expect(admission.ask("b") == .waiting(1))
    #expect(admission.ask("c") == .waiting(2))
    admission.withdraw(1)
    #expect(admission.waiting == 1)
    #expect(admission.ask("d") == .waiting(3))
    #expect(admission.release()?.waiter == "c")
    admission.withdraw(2)
    #expect(admission.waiting == 1, "one that was let through is not in the queue any more")
    #expect(admission.release()?.waiter == "d")
  }

  @Test("Thousands of waiters that leave cost no memory for ever")
  func manyWithdrawals() {
    var admission = Admission<Int>(slots: 1, maximumWaiting: 10_000)
    #expect(admission.ask(0) == .admitted)
    for ticket in 1...5_000 {
      #expect(admission.ask(ticket) == .waiting(UInt64(ticket)))
      admission.withdraw(UInt64(ticket))
    }
    #expect(admission.waiting == 0)
    #expect(admission.ask(1) == .waiting(5_001))
    #expect(admission.release()?.waiter == 1)
  }

  @Test("A slot taken back beyond the limit is worked off before anybody else is let in")
  func retake() {
    var admission = Admission<String>(slots: 1, maximumWaiting: 1)
    #expect(admission.ask("a") == .admitted)
    #expect(admission.release() == nil)
    #expect(admission.ask("b") == .admitted)
    admission.retake()
    #expect(admission.ask("c") == .waiting(1))
    #expect(admission.release() == nil)
    #expect(admission.release()?.waiter == "c")
  }
}
