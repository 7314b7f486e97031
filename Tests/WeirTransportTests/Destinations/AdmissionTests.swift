import Testing
import WeirTestSupport

@testable import WeirTransport

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

  @Test("An attempt that had a slot before goes ahead of those that never had one, and is never refused")
  func askAgain() {
    var admission = Admission<String>(slots: 1, maximumWaiting: 1)
    #expect(admission.ask("a") == .admitted)
    #expect(admission.ask("b") == .waiting(1))
    #expect(admission.askAgain("c") == .waiting(2))
    #expect(admission.askAgain("d") == .waiting(3))
    #expect(admission.ask("e") == .queueFull)
    #expect(admission.release()?.waiter == "c")
    #expect(admission.release()?.waiter == "d")
    #expect(admission.release()?.waiter == "b")
    #expect(admission.release() == nil)
    #expect(admission.askAgain("f") == .admitted)
    #expect(admission.taken == 1)
  }

  @Test("An attempt that asked again and left is skipped")
  func withdrawAgain() {
    var admission = Admission<String>(slots: 1, maximumWaiting: 2)
    #expect(admission.ask("a") == .admitted)
    #expect(admission.ask("b") == .waiting(1))
    #expect(admission.askAgain("c") == .waiting(2))
    admission.withdrawAgain(2)
    admission.withdrawAgain(2)
    #expect(admission.waiting == 1)
    #expect(admission.release()?.waiter == "b")
    #expect(admission.release() == nil)
    #expect(admission.taken == 0)
  }

  @Test("So many transfers may be parked; one more keeps its slot")
  func park() {
    var admission = Admission<String>(slots: 1, maximumWaiting: 1, maximumParked: 2)
    for _ in 0..<2 {
      #expect(admission.ask("a") == .admitted)
      let (isParked, next) = admission.park()
      #expect(isParked && next == nil)
    }
    #expect(admission.ask("b") == .admitted)
    #expect(admission.ask("c") == .waiting(1))
    #expect(!admission.park().isParked, "parked beyond the limit")
    #expect(admission.taken == 1)
    admission.unpark()
    let (isParked, next) = admission.park()
    #expect(isParked)
    #expect(next?.waiter == "c")
    #expect(admission.taken == 1)
    #expect(admission.parked == 2)
  }

  @Test("Any order of asking, parking, leaving keeps slots within their number and lets everybody through")
  func atRandom() {
    for seed in 0..<300 {
      var random = SeededRandom(seed: UInt64(seed))
      var admission = Admission<Int>(slots: 3, maximumWaiting: 5, maximumParked: 4)
      var (holding, parked, waiting, returning) = (Set<Int>(), Set<Int>(), [Int: UInt64](), [Int: UInt64]())
      func grant(_ entry: Admission<Int>.Entry?) {
        guard let entry else { return }
        if returning.removeValue(forKey: entry.waiter) != nil, parked.remove(entry.waiter) != nil { admission.unpark() }
        waiting[entry.waiter] = nil
        holding.insert(entry.waiter)
      }
      for id in 0..<400 {
        switch random.next() % 6 {
        case 0, 1:
          switch admission.ask(id) {
          case .admitted: holding.insert(id)
          case .waiting(let ticket): waiting[id] = ticket
          case .queueFull: #expect(waiting.count == 5)
          }
        case 2: if let one = holding.sorted().randomElement(using: &random) { finish(one) }
        case 3:
          guard let one = holding.sorted().randomElement(using: &random) else { continue }
          let (isParked, next) = admission.park()
          guard isParked else { continue }
          holding.remove(one)
          parked.insert(one)
          grant(next)
        case 4:
          guard let one = parked.subtracting(returning.keys).sorted().randomElement(using: &random) else { continue }
          switch admission.askAgain(one) {
          case .waiting(let ticket): returning[one] = ticket
          default:
            parked.remove(one)
            admission.unpark()
            holding.insert(one)
          }
        default:
          if let one = waiting.keys.sorted().randomElement(using: &random),
            let ticket = waiting.removeValue(forKey: one)
          {
            admission.withdraw(ticket)
          } else if let one = returning.keys.sorted().randomElement(using: &random),
            let ticket = returning.removeValue(forKey: one)
          {
            admission.withdrawAgain(ticket)
            parked.remove(one)
            admission.unpark()
          }
        }
        #expect(admission.taken == holding.count)
        #expect(admission.parked == parked.count)
        #expect(admission.waiting == waiting.count)
        #expect(holding.count <= 3 && parked.count <= 4)
        let mayWait: Bool = holding.count == 3
        #expect(mayWait || waiting.isEmpty, "nobody waits for a free slot")
        #expect(mayWait || returning.isEmpty, "nobody waits for a free slot")
      }
      func finish(_ one: Int) {
        holding.remove(one)
        grant(admission.release())
      }
    }
  }
}
