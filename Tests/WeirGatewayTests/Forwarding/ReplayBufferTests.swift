import Glibc
import Testing
import WeirCurl
import WeirTestSupport

@testable import WeirGateway

@Suite struct ReplayBufferTests {
  enum Input {
    /// So many bytes come. "room" or "full"
    case comes(Int)
    /// An attempt takes so many bytes, if there are as many. The number that it got, "pause" or "end"
    case takes(Int)
    /// Another attempt begins. "again" or "gone"
    case rewinds
    case hold, release, stopKeeping, finish
  }

  /// The last number is that of bytes that count for the process at the end.
  @Test(
    arguments: [
      // What is kept is sent as often as needed.
      (
        8,
        [
          .comes(3), .takes(2), .takes(2), .takes(2), .rewinds, .comes(2), .finish, .takes(9), .takes(1), .rewinds,
          .takes(9),
        ],
        "room 2 1 pause again room 5 end again 5", 0
      ),
      (0, [.finish, .takes(1), .rewinds, .takes(1)], "end again end", 0),
      // The limit is exact.
      (4, [.comes(4), .takes(4), .rewinds, .takes(4)], "room 4 again 4", 0),
      (4, [.comes(4), .takes(4), .comes(1), .rewinds, .takes(5)], "room 4 room gone 1", 0),
      (
        100_000, [.comes(60_000), .takes(60_000), .comes(40_000), .takes(40_000), .rewinds],
        "room 60000 room 40000 again", 65_536
      ),
      (100_000, [.comes(60_000), .takes(60_000), .comes(40_001), .takes(1), .rewinds], "room 60000 room 1 gone", 0),
      // Without a limit nothing is kept that was taken.
      (0, [.comes(9), .rewinds, .takes(1), .rewinds, .takes(9), .finish, .takes(1)], "room again 1 gone 8 end", 0),
      // What no attempt has touched can begin anew, however large.
      (2, [.comes(70_000), .rewinds, .takes(70_000), .rewinds], "full again 70000 gone", 0),
      // The client is ahead by a window, whatever is kept.
      (
        1 << 20, [.comes(65_535), .comes(1), .takes(1), .comes(65_536), .takes(131_071)], "room full 1 full 131071",
        65_536
      ),
      (
        1 << 20, [.comes(65_536), .takes(65_536), .comes(65_536), .rewinds, .takes(70_000), .comes(1)],
        "full 65536 full again 70000 room", 131_072
      ),
      // While it is held, the client waits at the limit, and nothing goes.
      (
        100_000,
        [.comes(60_000), .takes(60_000), .hold, .comes(39_999), .comes(1), .takes(40_000), .rewinds, .takes(100_000)],
        "room 60000 room full 40000 again 100000", 65_536
      ),
      (
        100_000,
        [.comes(60_000), .takes(60_000), .hold, .comes(50_000), .takes(50_000), .rewinds, .takes(110_000), .rewinds],
        "room 60000 full 50000 again 110000 gone", 0
      ),
      (
        100_000,
        [.comes(60_000), .takes(60_000), .hold, .comes(50_000), .release, .comes(9), .rewinds, .takes(50_009)],
        "room 60000 full room gone 50009", 0
      ),
      // No other attempt follows.
      (
        1 << 20,
        [
          .comes(190_000), .takes(150_000), .rewinds, .takes(150_000), .stopKeeping, .rewinds, .takes(40_000),
          .comes(9),
          .takes(9), .finish, .takes(1),
        ],
        "full 150000 again 150000 gone 40000 room 9 end", 0
      ),
      // The account of two steps is used up.
      (1 << 20, [.comes(196_608), .takes(196_608), .rewinds], "full 196608 again", 131_072),
      (1 << 20, [.comes(196_608), .takes(196_608), .comes(1), .rewinds], "full 196608 room gone", 0),
      (
        1 << 20, [.comes(196_608), .takes(196_608), .hold, .comes(1), .takes(1), .rewinds, .takes(9)],
        "full 196608 full 1 again 9", 0
      ),
    ] as [(Int, [Input], String, Int)])
  func itDoes(limit: Int, inputs: [Input], results: String, counted: Int) {
    let account = ReplayAccount(limit: 2 * ReplayAccount.step)
    var body = TestedBody(limit: limit, account: account)
    var given: [String] = []
    for input in inputs {
      switch input {
      case .comes(let count): given.append(body.comes(count) ? "room" : "full")
      case .takes(let count): given.append(body.takes(count))
      case .rewinds: given.append(body.rewinds() ? "again" : "gone")
      case .hold: body.buffer.hold()
      case .release: body.buffer.release()
      case .stopKeeping: body.buffer.stopKeeping()
      case .finish: body.buffer.finish()
      }
    }
    #expect(given.joined(separator: " ") == results)
    #expect(!body.isWrong)
    #expect(account.bytes == counted)
    body.buffer = ReplayBuffer()
    #expect(account.bytes == 0)
  }

  /// Whatever is kept and let go, an attempt reads the body's bytes in their order, from the beginning after a rewind.
  @Test(arguments: 0..<100 as Range<UInt64>)
  func attemptsReadTheBody(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    func pick(_ numbers: Int...) -> Int { numbers.randomElement(using: &random) ?? 0 }
    let limit = pick(0, 1, 1000, 65_536, 65_537, 150_000, 262_144, 1 << 20)
    let steps = pick(0, 1, 3, 100)
    let account = ReplayAccount(limit: steps * ReplayAccount.step)
    var body = TestedBody(limit: limit, account: account)
    let size = pick(0, 1, 65_536, 200_000, 400_000) + pick(0, 0, 1, 77)
    var isHeld = false, isGone = false, defects: Set<String> = []
    for _ in 0..<300 {
      switch pick(0, 0, 0, 0, 1, 1, 1, 1, 2, 3) {
      case 0 where body.come < size && body.buffer.wantsMore:
        body.comes(min(size - body.come, pick(1, 100, 16_384, 65_536)))
      case 1: _ = body.takes(pick(1, 1000, 16_384, 100_000))
      case 2 where body.buffer.canReplay:
        body.buffer.hold()
        isHeld = true
      case 3:
        let couldReplay = body.buffer.canReplay
        if body.rewinds() != couldReplay { defects.insert("another answer") }
        if couldReplay { isHeld = false }
      default: break
      }
      if isHeld, !body.buffer.canReplay { defects.insert("something went while it was held") }
      if isGone, body.buffer.canReplay { defects.insert("what is gone is back") }
      isGone = isGone || !body.buffer.canReplay
      if isGone, body.come <= min(limit, (1 + steps) * 65_536) { defects.insert("something went that could be kept") }
      if body.buffer.unread != body.come - body.taken { defects.insert("another number of bytes is unread") }
      if account.bytes > steps * 65_536 { defects.insert("more counts than may") }
    }
    _ = body.rewinds()
    while body.come < size {
      _ = body.takes(1 << 20)
      if !body.buffer.wantsMore { defects.insert("the client waits, and the attempt too") }
      body.comes(min(size - body.come, 65_536))
    }
    body.buffer.finish()
    _ = body.takes(1 << 20)
    #expect(body.takes(1) == "end")
    #expect(body.taken == size && !body.isWrong)
    #expect(defects == [])
    body.buffer = ReplayBuffer()
    #expect(account.bytes == 0)
  }

  /// 200 bodies at once of 192 KiB each, where 64 of them could keep all.
  @Test func theBodiesOfAProcessHaveABound() {
    let bound = 128 * ReplayAccount.step
    let account = ReplayAccount(limit: bound)
    var bodies = (0..<200).map { _ in TestedBody(limit: 1 << 20, account: account) }
    var highest = 0
    for _ in 0..<6 {
      for index in bodies.indices {
        bodies[index].comes(32_768)
        _ = bodies[index].takes(32_768)
        highest = max(highest, account.bytes)
      }
    }
    #expect(highest == bound)
    let kept = bodies.indices.filter { bodies[$0].buffer.canReplay }
    #expect(kept.count == 64)
    for index in bodies.indices {
      bodies[index].buffer.finish()
      let isKept = bodies[index].buffer.canReplay
      #expect(bodies[index].rewinds() == isKept)
      #expect(bodies[index].takes(196_608) == (isKept ? "196608" : "end"))
    }
    #expect(!bodies.contains { $0.isWrong })
    bodies = []
    #expect(account.bytes == 0)
  }
}

/// A buffer with a body of which each byte tells its place, and an attempt that looks at what it gets.
private struct TestedBody {
  var buffer: ReplayBuffer
  /// The bytes that have come, and those that the attempt has taken.
  private(set) var come = 0
  private(set) var taken = 0
  /// Whether an attempt got other bytes than those of the body.
  private(set) var isWrong = false

  private static let bytes = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8 ^ $0 >> 15) }

  init(limit: Int, account: ReplayAccount) {
    buffer = ReplayBuffer(limit: limit, account: account)
  }

  /// Returns whether there is room for more.
  @discardableResult
  mutating func comes(_ count: Int) -> Bool {
    Self.bytes.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[come..<come + count])) }
    come += count
    return buffer.wantsMore
  }

  mutating func takes(_ count: Int) -> String {
    var target = [UInt8](repeating: 0, count: count)
    var got = 0
    while got < count {
      let read = target.withUnsafeMutableBytes {
        buffer.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[got...]))
      }
      guard case .bytes(let more) = read else {
        if got == 0 { return "\(read)" }
        break
      }
      got += more
    }
    // Faster than `==` without optimization.
    isWrong = isWrong || memcmp(Array(Self.bytes[taken..<taken + got]), target, got) != 0
    taken += got
    return String(got)
  }

  mutating func rewinds() -> Bool {
    guard buffer.rewind() else { return false }
    taken = 0
    return true
  }
}
