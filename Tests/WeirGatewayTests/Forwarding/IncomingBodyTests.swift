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

  @Test func aBodyMayBeSentAgainAsLongAsAllThatCameIsKept() {
    let limit = ReplayBuffer.window
    var body = Self.body(limit)
    #expect(body.canReplay, "though there may be more")
    var reads = [body.read(limit)]
    #expect(body.canReplay)
    body.add(1)
    #expect(!body.canReplay)
    body = Self.body(limit + 1)
    #expect(body.canReplay, "no attempt has taken anything")
    reads.append(body.read(1))
    #expect(!body.canReplay)
    #expect(reads.map(\.0) == ["\(limit)", "1"])
  }

  /// From the verdict until the next attempt begins, and on if there is none after all.
  @Test func theClientWaitsWhileABodyIsHeld() {
    let limit = ReplayBuffer.window
    var body = Self.body(limit)
    var reads = [body.read(limit)]
    #expect(!body.isFull)
    body.hold()
    body.add(10)
    #expect(body.isFull && body.canReplay)
    reads += [body.read(20), body.read(1)]
    #expect(!body.isAwaited && !body.holdsUpstreamUp, "it is not the client that is slow")
    let makesRoom = [body.release(), body.release()]
    #expect(makesRoom == [true, false])
    #expect(body.isAwaited && body.holdsUpstreamUp)
    body.add(1)
    #expect(!body.canReplay)
    #expect(reads.map(\.0) == ["\(limit)", "10", "pause"])
    #expect(reads.map(\.1) == [true, false, false])
  }

  @Test func aBodyThatIsOverKeepsNothing() {
    let account = ReplayAccount()
    var body = IncomingBody()
    body.keep(1 << 20, of: account)
    body.add(200_000)
    #expect(body.keepsMore && account.bytes == 196_608)
    var other = IncomingBody()
    other.keep(1 << 20, of: account)
    other.add(200_000)
    other.stopKeeping()
    #expect(!other.keepsMore && account.bytes == 196_608)
    body.drop()
    #expect(account.bytes == 0)
  }

  @Test func theRequestBeginsWithTheWholeBodyOrAFullBuffer() {
    var body = IncomingBody()
    #expect(body.isGathering)
    var begins = [body.ended()]
    body = IncomingBody()
    begins.append(body.add(ReplayBuffer.window - 1))
    #expect(!body.isFull)
    begins.append(body.add(1))
    #expect(body.isFull && !body.isGathering)
    begins.append(body.ended())
    #expect(begins == [true, false, true, false], "it begins once")
  }

  @Test func eachSideWaitsForTheOther() {
    let limit = ReplayBuffer.window
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
