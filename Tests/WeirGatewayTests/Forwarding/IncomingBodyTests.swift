import Testing
import WeirCurl
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
    #expect(body.isGathering)
    var begins = [body.ended()]
    body = IncomingBody()
    begins.append(body.add(ReplayBuffer.defaultLimit - 1))
    #expect(!body.isFull)
    begins.append(body.add(1))
    #expect(body.isFull && !body.isGathering)
    begins.append(body.ended())
    #expect(begins == [true, false, true, false], "it begins once")
  }

  @Test func eachSideWaitsForTheOther() {
    let limit = ReplayBuffer.defaultLimit
    var body = Self.body(limit)
    #expect(body.isFull)
    var reads = [body.read(1), body.read(limit)]
    #expect(!body.holdsUpstreamUp)
    reads.append(body.read(1))
    #expect(body.isAwaited && body.holdsUpstreamUp)
    var rewinds = [body.rewind()]
    #expect(!body.isAwaited)
    reads += [body.read(1 << 20), body.read(1)]
    // The client's side has waited for the room that the first one leaves.
    #expect(reads.map(\.0) == ["1", "\(limit - 1)", "pause", "\(limit)", "pause"])
    #expect(reads.map(\.1) == [true, false, false, false, false])
    body.add(1)
    let wakes = [body.wakes(), body.wakes()]
    #expect(wakes == [true, false])
    rewinds.append(body.rewind())
    #expect(rewinds == [true, false], "what the attempt has taken is gone")
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

  /// The number of bytes, or "pause".
  fileprivate mutating func read(_ count: Int) -> (String, Bool) {
    var bytes = [UInt8](repeating: 0, count: count)
    let (read, makesRoom) = bytes.withUnsafeMutableBytes { self.read(into: $0) }
    guard case .bytes(let count) = read else { return ("\(read)", makesRoom) }
    return ("\(count)", makesRoom)
  }
}
