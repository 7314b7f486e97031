import Testing
import WeirIO
import WeirTestSupport

@Suite struct DequeTests {
  @Test func firstInFirstOut() {
    var deque = Deque<Int>()
    #expect(deque.popFirst() == nil)
    deque.append(contentsOf: 0..<20)
    #expect(deque.first == 0)
    #expect((0..<20).map { _ in deque.popFirst() } == Array(0..<20))
    #expect(deque.isEmpty)
    #expect(deque.first == nil)
  }

  @Test(arguments: 0..<20)
  func behavesAsAnArray(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var (deque, array, next) = (Deque<Int>(), [Int](), 0)
    for _ in 0..<1000 {
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<10:
        deque.append(next)
        array.append(next)
        next += 1
      case 10..<19: #expect(deque.popFirst() == (array.isEmpty ? nil : array.removeFirst()))
      default:
        let divisor = Int.random(in: 2..<5, using: &random)
        deque.removeAll { $0 % divisor == 0 }
        array.removeAll { $0 % divisor == 0 }
      }
      #expect(deque.count == array.count)
      #expect(deque.first == array.first)
    }
  }

  @Test func lettingGoOfElements() {
    weak var released: Released?
    var deque = Deque<Released>()
    do {
      let element = Released()
      released = element
      deque.append(element)
    }
    _ = deque.popFirst()
    #expect(released == nil)
  }
}

private final class Released {}
