import Testing
import WeirCurl
import WeirTestSupport

@testable import WeirGateway

@Suite struct ReplayBufferTests {
  @Test func aSmallBodyIsReadAsOftenAsNeeded() {
    var buffer = ReplayBuffer(limit: 8)
    append("abc", to: &buffer)
    #expect(read(&buffer, 2) == "ab")
    #expect(read(&buffer, 2) == "c")
    #expect(read(&buffer, 2) == "pause")
    #expect(!buffer.isComplete)
    #expect(rewind(&buffer))
    append("de", to: &buffer)
    buffer.finish()
    #expect(read(&buffer, 9) == "abcde")
    #expect(read(&buffer, 9) == "end")
    #expect(buffer.isComplete && buffer.canReplay)
    #expect(rewind(&buffer))
    #expect(read(&buffer, 9) == "abcde")
  }

  @Test func theLimitIsExact() {
    var buffer = ReplayBuffer(limit: 4)
    append("abcd", to: &buffer)
    #expect(buffer.canReplay)
    #expect(!buffer.wantsMore)
    append("e", to: &buffer)
    #expect(!buffer.canReplay)
  }

  @Test func aLargeBodyPassesThroughWithoutLoss() {
    var buffer = ReplayBuffer(limit: 4)
    var random = SeededRandom(seed: 3)
    var sent: [UInt8] = []
    var received: [UInt8] = []
    var largest = 0
    while sent.count < 10_000 || buffer.unread > 0 {
      if sent.count < 10_000, buffer.wantsMore {
        let piece = (0..<Int(random.next() % 7)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        sent += piece
        piece.withUnsafeBytes { buffer.append($0) }
      } else {
        var target = [UInt8](repeating: 0, count: Int(1 + random.next() % 5))
        if case .bytes(let count) = target.withUnsafeMutableBytes({ buffer.read(into: $0) }) {
          received += target[..<count]
        }
      }
      largest = max(largest, buffer.unread)
    }
    buffer.finish()
    #expect(read(&buffer, 1) == "end")
    #expect(sent == received)
    #expect(largest <= 4 + 6)
    #expect(!rewind(&buffer))
    #expect(!buffer.canReplay)
  }

  /// What no attempt has touched can still begin anew, however large.
  @Test func anUntouchedBodyCanBeginAnew() {
    var buffer = ReplayBuffer(limit: 2)
    append("abc", to: &buffer)
    #expect(rewind(&buffer))
    #expect(read(&buffer, 1) == "a")
    #expect(rewind(&buffer))
    #expect(read(&buffer, 3) == "abc")
    #expect(!rewind(&buffer))
  }

  @Test func anEmptyBodyEnds() {
    var buffer = ReplayBuffer()
    #expect(read(&buffer, 1) == "pause")
    buffer.finish()
    #expect(read(&buffer, 1) == "end")
    #expect(rewind(&buffer))
    #expect(buffer.isComplete && buffer.canReplay)
  }

  private func rewind(_ buffer: inout ReplayBuffer) -> Bool { buffer.rewind() }

  private func append(_ text: String, to buffer: inout ReplayBuffer) {
    Array(text.utf8).withUnsafeBytes { buffer.append($0) }
  }

  private func read(_ buffer: inout ReplayBuffer, _ count: Int) -> String {
    var target = [UInt8](repeating: 0, count: count)
    let read = target.withUnsafeMutableBytes { buffer.read(into: $0) }
    guard case .bytes(let count) = read else { return "\(read)" }
    return String(decoding: target[..<count], as: UTF8.self)
  }
}
