import Testing
import WeirServer

@testable import WeirGateway

@Suite struct IncomingBodyTests {
  private static func body(_ bytes: Int) -> IncomingBody {
    var body = IncomingBody()
    body.add(bytes)
    return body
  }

  @Test func aBodyMayBeSentAgainAsLongAsAllOfItIsKept() {
    let limit = ReplayBuffer.defaultLimit
    var body = Self.body(limit)
    #expect(body.canReplay(.none) && body.canReplay(.length(Int64(limit))))
    #expect(!body.canReplay(.length(Int64(limit) + 1)), "the rest would not fit")
    #expect(!body.canReplay(.chunked), "there may be more")
    _ = body.ended()
    #expect(body.canReplay(.chunked) && body.canReplay(.length(Int64(limit) + 1)))
    #expect(!Self.body(limit + 1).canReplay(.chunked))
  }

  @Test func theRequestBeginsWithTheWholeBodyOrAFullBuffer() {
    var body = IncomingBody()
    #expect(body.isGathering && body.ended())
    body = IncomingBody()
    #expect(!body.add(ReplayBuffer.defaultLimit - 1) && !body.isFull)
    #expect(body.add(1) && body.isFull && !body.isGathering)
    #expect(!body.ended(), "it has begun")
  }

  @Test func eachSideWaitsForTheOther() {
    var body = Self.body(ReplayBuffer.defaultLimit)
    #expect(body.isFull)
    #expect(body.read(1) == (.bytes(1), true), "the client's side has waited for room")
    #expect(body.read(ReplayBuffer.defaultLimit) == (.bytes(ReplayBuffer.defaultLimit - 1), false))
    #expect(!body.holdsUpstreamUp)
    #expect(body.read(1) == (.wait, false) && body.isAwaited && body.holdsUpstreamUp)
    #expect(body.rewind() && !body.isAwaited)
    #expect(body.read(1 << 20) == (.bytes(ReplayBuffer.defaultLimit), false))
    _ = body.read(1)
    body.add(1)
    #expect(body.wakes() && !body.wakes())
    #expect(!body.rewind(), "what the attempt has taken is gone")
  }

  @Test func theFirstDefectCounts() {
    var body = IncomingBody()
    body.refuse(.broken)
    body.refuse(.tooSlow)
    #expect(body.defect == .broken)
  }
}

extension IncomingBody {
  /// So many bytes come. Returns whether the request is to begin.
  @discardableResult
  fileprivate mutating func add(_ count: Int) -> Bool {
    [UInt8](repeating: 0x78, count: count).withUnsafeBytes { append($0) }
    return received(count)
  }

  fileprivate mutating func read(_ count: Int) -> (ReplayBuffer.Read, Bool) {
    var bytes = [UInt8](repeating: 0, count: count)
    let (read, makesRoom) = bytes.withUnsafeMutableBytes { self.read(into: $0) }
    return (read, makesRoom)
  }
}
