import Testing

@testable import WeirGateway

@Suite struct BodyIntakeTests {
  @Test func beginsWhenTheBodyIsThere() {
    var intake = BodyIntake()
    let begins = [intake.received(10, isFull: false), intake.ended(), intake.ended()]
    #expect(begins == [false, true, false])
    #expect(intake.stage == .complete)
  }

  @Test func beginsOnceWhenAsMuchAsIsKeptHasCome() {
    var intake = BodyIntake()
    let begins = [
      intake.received(10, isFull: false), intake.received(70_000, isFull: true), intake.received(70_000, isFull: true),
    ]
    #expect(begins == [false, true, false])
    #expect(intake.stage == .streaming)
    let beginsAtTheEnd = intake.ended()
    #expect(!beginsAtTheEnd)
  }

  @Test func gatheringEndsWithItsTime() {
    var intake = BodyIntake()
    _ = intake.received(60_000, isFull: false)
    let isTooSlow = intake.isTooSlow(isAwaited: false, isCrowded: false)
    #expect(isTooSlow)
  }

  /// Bytes in an interval of a body that streams, whether the upstream waits for more, whether others want its place.
  @Test(arguments: [
    (0, true, true, true), (5119, true, true, true), (5120, true, true, false), (0, false, true, false),
    (0, true, false, false),
  ])
  func aBodyThatStreamsHasToComeAtAPaceWhereOthersWait(
    bytes: Int, isAwaited: Bool, isCrowded: Bool, isTooSlow: Bool
  ) {
    var intake = BodyIntake()
    _ = intake.received(100_000, isFull: true)
    // What came before the last look does not count.
    _ = intake.received(10_000, isFull: false)
    let first = intake.isTooSlow(isAwaited: true, isCrowded: true)
    _ = intake.received(bytes, isFull: false)
    let second = intake.isTooSlow(isAwaited: isAwaited, isCrowded: isCrowded)
    #expect([first, second] == [false, isTooSlow])
  }

  @Test func aCompleteBodyIsNeverTooSlow() {
    var intake = BodyIntake()
    _ = intake.received(100_000, isFull: true)
    _ = intake.ended()
    let isTooSlow = intake.isTooSlow(isAwaited: true, isCrowded: true)
    #expect(!isTooSlow)
  }
}
