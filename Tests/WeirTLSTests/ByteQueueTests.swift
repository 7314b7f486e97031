import Testing
import WeirTestSupport

@testable import WeirTLS

@Suite struct ByteQueueTests {
  @Test func queueIsFirstInFirstOut() {
    var random = SeededRandom(seed: 3)
    var queue = ByteQueue()
    var model: [UInt8] = []
    var next: UInt8 = 0
    for _ in 0..<3000 {
      let count = Int.random(in: 0...(Bool.random(using: &random) ? 20 : 3000), using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0, 1:
        let added = (0..<count).map { next &+ UInt8(truncatingIfNeeded: $0) }
        next &+= UInt8(truncatingIfNeeded: count)
        added.withUnsafeBytes { queue.append($0) }
        model += added
      case 2:
        queue.removeFirst(count)
        model.removeFirst(min(count, model.count))
      default:
        var target = [UInt8](repeating: 0, count: count * 2)
        let moved = target.withUnsafeMutableBytes { queue.move(into: $0) }
        #expect(moved == min(target.count, model.count))
        #expect(target[..<moved].elementsEqual(model.prefix(moved)))
        model.removeFirst(moved)
      }
      #expect(queue.count == model.count)
      #expect(queue.bytes.elementsEqual(model))
    }
    queue.removeFirst(-1)
    queue.removeFirst(.max)
    #expect(queue.count == 0)
    #expect(queue.bytes.baseAddress == nil)
  }

  @Test(arguments: [
    ("", FirstBytes.undecided), ("GET", .undecided), ("GET ", .http), ("OPTIONS * HTTP/1.1", .http), (" GET", .other),
    ("GET/", .text), ("\u{16}\u{3}\u{1}", .other), ("get ", .other), ("ABCDEFGHIJKLMNOPQRSTUVWX", .undecided),
    ("ABCDEFGHIJKLMNOPQRSTUVWXY", .text), ("ABCDEFGHIJKLMNOPQRSTUVWX ", .http),
  ])
  func protocolIsGuessed(text: String, expected: FirstBytes) {
    #expect(Array(text.utf8).withUnsafeBytes { FirstBytes($0) } == expected)
  }
}
