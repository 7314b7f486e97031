import Testing
import WeirTestSupport

@testable import WeirIO

@Suite struct TimerHeapTests {
  private static func time(_ nanoseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

  @Test func nothingIsDueBeforeItsTime() {
    var heap = TimerHeap()
    let timer = LoopTimer()
    timer.due = Self.time(10)
    heap.insert(timer)
    #expect(heap.earliest == Self.time(10))
    #expect(heap.popDue(at: Self.time(9)) == nil)
    #expect(heap.popDue(at: Self.time(10)) === timer)
    #expect(!timer.isArmed)
    #expect(heap.earliest == nil)
    heap.remove(timer)  // does nothing
  }

  @Test(arguments: 0..<30)
  func behavesAsASortedList(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var heap = TimerHeap()
    var armed: [LoopTimer] = []
    for _ in 0..<500 {
      let due = Self.time(Int64.random(in: 0..<100, using: &random))
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        let timer = LoopTimer()
        timer.due = due
        heap.insert(timer)
        armed.append(timer)
      case 5, 6:
        guard let timer = armed.randomElement(using: &random) else { continue }
        timer.due = due
        heap.update(timer)
      case 7, 8:
        guard let index = armed.indices.randomElement(using: &random) else { continue }
        heap.remove(armed.remove(at: index))
      default:
        let popped = heap.popDue(at: due)
        #expect(popped?.due == armed.map(\.due).filter { $0 <= due }.min())
        armed.removeAll { $0 === popped }
      }
      #expect(heap.count == armed.count)
      #expect(heap.earliest == armed.map(\.due).min())
      #expect(armed.map(\.slot).sorted() == Array(0..<armed.count))
    }
  }
}
