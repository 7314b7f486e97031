import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

@Suite struct AccessLogQueueTests {
  /// Random lines beside a list of what must be there.
  @Test(arguments: 0..<200 as Range<UInt64>) func keepsWhatFits(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let lineLimit = Int.random(in: 1...20, using: &random), byteLimit = Int.random(in: 1...200, using: &random)
    var queue = AccessLogQueue(lines: lineLimit, bytes: byteLimit)
    var waiting: [[UInt8]] = [], taken: [[UInt8]] = []
    var buffer: [UInt8] = []
    for _ in 0..<100 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0, 1:
        let lines = (0..<Int.random(in: 1...8, using: &random)).map { _ in
          [UInt8](repeating: UInt8.random(in: 97...122, using: &random), count: .random(in: 0...20, using: &random)) + [
            10
          ]
        }
        let dropped = Array(lines.joined()).withUnsafeBytes { queue.add($0, lines: lines.count) }
        var fitting = 0
        for line in lines {
          let present = waiting + taken
          guard present.count < lineLimit, present.joined().count + line.count <= byteLimit else { break }
          waiting.append(line)
          fitting += 1
        }
        #expect(dropped == lines.count - fitting)
      case 2:
        queue.settle()
        taken = waiting
        #expect(queue.take(into: &buffer) == waiting.count)
        #expect(buffer == Array(waiting.joined()))
        waiting = []
      default:
        queue.settle()
        taken = []
      }
      #expect(queue.lines == waiting.count)
      let present = waiting + taken
      #expect(
        queue.isHalfFull == (present.count * 2 >= lineLimit || present.joined().count * 2 >= byteLimit))
    }
  }

  @Test func samplingKeepsFailures() {
    let none = AccessSampling(share: 0), all = AccessSampling(share: 1), tenth = AccessSampling(share: 0.1)
    for draw in [0, 1, UInt64.max / 10 - 2048, UInt64.max / 10 + 2048, .max] {
      #expect(!none.keeps(status: 200, isCut: false, draw: draw))
      #expect(all.keeps(status: 200, isCut: false, draw: draw))
      #expect(tenth.keeps(status: 399, isCut: false, draw: draw) == (draw < UInt64.max / 10))
      for (status, isCut) in [(400, false), (599, false), (200, true), (101, true), (0, false)] {
        #expect(none.keeps(status: status, isCut: isCut, draw: draw))
      }
    }
    var random = SeededRandom(seed: 1)
    let kept = (0..<10_000).count { _ in tenth.keeps(status: 200, isCut: false, draw: random.next()) }
    #expect((900...1100).contains(kept))
  }

  @Test func aWarningAtOnceAndThenEachMinute() {
    var notices = AccessLogNotices()
    let start = MonotonicTime(nanoseconds: 5_000_000_000)
    func at(_ seconds: Double) -> MonotonicTime { start.advanced(bySeconds: seconds) }
    #expect(notices.due(at: start) == nil)
    #expect(notices.next == nil)
    notices.note(0, because: "nothing")
    notices.note(3, because: "a")
    #expect(notices.due(at: start) == .init(count: 3, reason: "a"))
    #expect(notices.next == nil)
    notices.note(1, because: "a")
    notices.note(2, because: "b")
    #expect(notices.next == at(60))
    #expect(notices.due(at: at(59.9)) == nil)
    #expect(notices.due(at: at(60)) == .init(count: 3, reason: "b"))
    notices.note(4, because: "c")
    #expect(notices.due(at: at(61)) == nil)
    #expect(notices.due(at: at(61), isLast: true) == .init(count: 4, reason: "c"))
    notices.note(1, because: "d")
    #expect(notices.due(at: at(500)) == .init(count: 1, reason: "d"))
  }
}
