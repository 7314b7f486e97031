import Testing
import Weir

@testable import WeirGateway

@Suite struct BodyIntakeTests {
  @Test func beginsWhenTheBodyIsThere() {
    var intake = BodyIntake()
    #expect(!intake.received(10, isFull: false))
    #expect(intake.stage == .gathering)
    #expect(intake.ended())
    #expect(intake.stage == .complete)
  }

  @Test func beginsOnceWhenAsMuchAsIsKeptHasCome() {
    var intake = BodyIntake()
    #expect(!intake.received(10, isFull: false))
    #expect(intake.received(70_000, isFull: true))
    #expect(intake.stage == .streaming)
    #expect(!intake.received(70_000, isFull: true))
    #expect(!intake.ended())
  }

  @Test func gatheringEndsWithItsTime() {
    var intake = BodyIntake()
    _ = intake.received(60_000, isFull: false)
    #expect(intake.timeIsOver(isAwaited: false, isCrowded: false) == .giveUp)
  }

  /// Bytes in an interval of a body that streams, whether the upstream waits for more, whether others want its place.
  @Test(arguments: [
    (0, true, true, BodyIntake.Verdict.giveUp), (5119, true, true, .giveUp), (5120, true, true, .proceed),
    (0, false, true, .proceed), (0, true, false, .proceed),
  ])
  func aBodyThatStreamsHasToComeAtAPaceWhereOthersWait(
    bytes: Int, isAwaited: Bool, isCrowded: Bool, verdict: BodyIntake.Verdict
  ) {
    var intake = BodyIntake()
    _ = intake.received(100_000, isFull: true)
    // What came before it streamed, and before the last look, does not count.
    _ = intake.received(10_000, isFull: false)
    #expect(intake.timeIsOver(isAwaited: true, isCrowded: true) == .proceed)
    _ = intake.received(bytes, isFull: false)
    #expect(intake.timeIsOver(isAwaited: isAwaited, isCrowded: isCrowded) == verdict)
  }

  @Test func aCompleteBodyIsNeverTooSlow() {
    var intake = BodyIntake()
    _ = intake.received(100_000, isFull: true)
    _ = intake.ended()
    #expect(intake.timeIsOver(isAwaited: true, isCrowded: true) == .proceed)
  }

  @Test func anUpstreamTakesSoManyBodiesAtOnce() {
    var limit = UploadLimit(4)
    let crowded = (0..<5).map { _ in (limit.enter(), limit.isCrowded) }
    #expect(crowded.map(\.0) == [true, true, true, true, false])
    #expect(crowded.map(\.1) == [false, false, true, true, true])
    #expect(limit.count == 4)
    limit.leave()
    #expect(limit.enter())
  }

  /// Requests of the configuration before may still be inside.
  @Test func aReloadKeepsTheGatesOfUpstreamsThatStay() {
    let gates = UploadGates(limit: 1)
    let a = Destination(scheme: "http", host: "a", port: 80), b = Destination(scheme: "http", host: "b", port: 80)
    let first = gates.follow([a, b]), second = gates.follow([a])
    #expect(first[a] === second[a])
    #expect(second.count == 1)
    #expect(gates.follow([b])[b] !== first[b])
  }
}
