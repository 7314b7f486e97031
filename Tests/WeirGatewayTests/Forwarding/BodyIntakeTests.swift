import Testing
import Weir

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
    let verdict = intake.timeIsOver(isAwaited: false, isCrowded: false)
    #expect(verdict == .giveUp)
  }

  /// Bytes in an interval of a body that streams, whether the upstream waits for more, whether others want its place.
  @Test(arguments: [
    (0, true, true, BodyIntake.Verdict.giveUp), (5119, true, true, .giveUp), (5120, true, true, .proceed),
    (0, false, true, .proceed), (0, true, false, .proceed),
  ])
  func aBodyThatStreamsHasToComeAtAPaceWhereOthersWait(
    bytes: Int, isAwaited: Bool, isCrowded: Bool, expected: BodyIntake.Verdict
  ) {
    var intake = BodyIntake()
    _ = intake.received(100_000, isFull: true)
    // What came before the last look does not count.
    _ = intake.received(10_000, isFull: false)
    let first = intake.timeIsOver(isAwaited: true, isCrowded: true)
    _ = intake.received(bytes, isFull: false)
    let verdict = intake.timeIsOver(isAwaited: isAwaited, isCrowded: isCrowded)
    #expect([first, verdict] == [.proceed, expected])
  }

  @Test func aCompleteBodyIsNeverTooSlow() {
    var intake = BodyIntake()
    _ = intake.received(100_000, isFull: true)
    _ = intake.ended()
    let verdict = intake.timeIsOver(isAwaited: true, isCrowded: true)
    #expect(verdict == .proceed)
  }

  @Test func anUpstreamTakesSoManyBodiesAtOnce() {
    var limit = UploadLimit(4)
    var entered: [Bool] = [], crowded: [Bool] = []
    for _ in 0..<5 {
      entered.append(limit.enter())
      crowded.append(limit.isCrowded)
    }
    #expect(entered == [true, true, true, true, false])
    #expect(crowded == [false, false, true, true, true])
    limit.leave()
    let entersAgain = limit.enter()
    #expect(entersAgain && limit.count == 4)
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

  @Test func bodiesCountWhenTheirUpstreamIsBack() {
    let gates = UploadGates(limit: 1)
    let a = Destination(scheme: "http", host: "a", port: 80)
    let first = gates.follow([a])
    #expect(first[a]?.enter() == true)
    for _ in 0..<2 { #expect(gates.follow([]).isEmpty) }
    #expect(gates.follow([a])[a]?.enter() == false)
    first[a]?.leave()
    #expect(gates.follow([a])[a]?.enter() == true)
  }
}
