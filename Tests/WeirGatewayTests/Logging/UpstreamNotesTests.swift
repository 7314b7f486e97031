import Testing
import WeirIO

@testable import WeirGateway
@testable import WeirTransport

@Suite struct UpstreamNotesTests {
  /// An event at a time in seconds, and the lines that it leads to.
  private enum Step {
    case gaveUp(AbandonedPhase, after: Double, at: Double, [String] = [])
    case limited(Double, [String] = [])
    case paced(Double, left: Double = 0, begun: Int = 0, refused: Int = 0, [String] = [])
    case report(Double, OverloadReport, [String] = [])
    case look(Double, [String] = [])
    /// When to look next.
    case next(Double?)
    /// Whether nothing is left to say.
    case isEmpty(Bool)
  }

  private static func report(
    _ state: OverloadState = .normal, used: Int = 1, _ offered: Int = 0, _ served: Int = 0,
    shed: [ShedReason: Int] = [:], silence: Double? = nil
  ) -> OverloadReport {
    var report = OverloadReport(state: state, limit: 8, used: used, baseline: 0.025, serviceRate: 40)
    report.silence = silence
    report.offered = offered
    report.served = served
    report.shed = shed
    return report
  }

  private static func report(
    used: Int = 1, _ offered: Int, _ served: Int, shed: [ShedReason: Int] = [:], silence: Double? = nil
  ) -> OverloadReport { report(.normal, used: used, offered, served, shed: shed, silence: silence) }

  private static func silent(
    _ silence: Double, _ offered: Int = 10, shed: [ShedReason: Int] = [.silent: 8]
  )
    -> OverloadReport
  { report(.silent, used: 30, offered, 0, shed: shed, silence: silence) }

  /// Each destination with load control reports once a second, and a forward proxy has as many as its clients name.
  @Test func theLogForgetsUpstreamsOfWhichNothingIsToBeSaid() {
    let log = UpstreamLog(Logger(level: .warn, format: .logfmt) { _ in }, window: 10)
    for number in 1...100 {
      let upstream = Destination(scheme: "http", host: "h\(number)", port: 80)
      log.note(upstream) { $0.report(Self.report(5, 5), at: MonotonicTime(nanoseconds: 1_000_000_000)) }
    }
    #expect(log.count == 0)
    let upstream = Destination(scheme: "http", host: "h", port: 80)
    log.note(upstream) { $0.limited(at: MonotonicTime(nanoseconds: 1_000_000_000)) }
    log.note(upstream) { $0.report(Self.report(5, 5), at: MonotonicTime(nanoseconds: 2_000_000_000)) }
    #expect(log.count == 1)
    #expect(log.windowsEnded(at: MonotonicTime(nanoseconds: 12_000_000_000)) == nil)
    #expect(log.count == 0)
  }

  @Test func theFirstGiveUpHasALineAtOnceAndTheOthersACountPerWindow() {
    run([
      .isEmpty(true), .next(nil),
      .gaveUp(.upstream, after: 2, at: 1, ["gave up 1 upstream 2.0"]), .next(11), .isEmpty(false),
      .gaveUp(.queue, after: 9, at: 2), .gaveUp(.queue, after: 1, at: 3), .gaveUp(.upstream, after: 3, at: 4),
      .gaveUp(.queue, after: 5, at: 10.9), .look(10.9), .next(11),
      // The phase of most of them, and the median of their ages.
      .look(11, ["gave up 4 queue 5.0 in 10.0"]), .next(21),
      // After a window with events comes another window.
      .gaveUp(.upstream, after: 4, at: 12), .look(21, ["gave up 1 upstream 4.0 in 10.0"]),
      .look(31), .next(nil), .isEmpty(true),
      .gaveUp(.queue, after: 1, at: 32, ["gave up 1 queue 1.0"]),
      // If the end of a window was not looked at, the line covers all of the time since its begin.
      .gaveUp(.queue, after: 2, at: 60, ["gave up 1 queue 2.0 in 28.0"]),
    ])
  }

  @Test func giveUpsInTheBodyAreNoSignOfASlowUpstream() {
    run([.gaveUp(.body, after: 2, at: 1), .isEmpty(true), .next(nil), .look(100)])
  }

  @Test func theMedianIsOfTheFirstHundred() {
    var steps: [Step] = [.gaveUp(.queue, after: 1, at: 0, ["gave up 1 queue 1.0"])]
    for number in 1...1_000 { steps.append(.gaveUp(.queue, after: Double(number), at: 1)) }
    run(steps + [.look(10, ["gave up 1000 queue 51.0 in 10.0"])])
  }

  @Test func answersOf429AreCounted() {
    run([
      .limited(0, ["limited 1"]), .limited(1), .limited(2), .limited(3), .look(10, ["limited 3 in 10.0"]),
      .look(20), .isEmpty(true),
    ])
  }

  /// An event of one kind does not delay the line of another.
  @Test func eachKindHasItsOwnWindow() {
    run([
      .limited(0, ["limited 1"]), .gaveUp(.queue, after: 1, at: 5, ["gave up 1 queue 1.0"]), .next(10),
      .limited(6), .gaveUp(.queue, after: 1, at: 6), .look(10, ["limited 1 in 10.0"]), .next(15),
      .look(15, ["gave up 1 queue 1.0 in 10.0"]), .next(20),
    ])
  }

  @Test func anOverloadHasALinePerWindowAndAnEnd() {
    let overloaded = Self.report(.overloaded, 100, 40, shed: [.overload: 50, .waited: 10])
    run(
      [.report(0, Self.report(100, 40)), .isEmpty(true), .report(1, overloaded, ["overloaded 100 40 60 in 1.0"])]
        + (2..<11).map { .report(Double($0), overloaded) }
        + [
          .report(11, overloaded, ["overloaded 1000 400 600 in 10.0"]), .report(12, Self.report(40, 40)),
          .report(20, Self.report(40, 40)),
          // The overload was over for a window. The time is that from its first to its last report.
          .report(21, Self.report(40, 40), ["over 10.0 660"]), .isEmpty(true), .next(nil),
        ])
  }

  @Test func anOverloadThatComesBackWithinAWindowWasNotOver() {
    let overloaded = Self.report(.overloaded, 10, 5, shed: [.overload: 5])
    run([
      .report(0, overloaded, ["overloaded 10 5 5 in 1.0"]), .report(9, Self.report()), .report(9.5, overloaded),
      .look(10, ["overloaded 10 5 5 in 10.0"]), .look(19), .look(20, ["over 9.5 10"]), .isEmpty(true),
    ])
  }

  /// Refusals before the state is entered have a line too: otherwise callers would be refused and the log not say so.
  @Test func refusalsInTheNormalStateAreAnOverload() {
    run([
      .report(0, Self.report(10, 9, shed: [.waited: 1]), ["overloaded 10 9 1 in 1.0"]), .next(10),
      .look(10, ["over 0.0 1"]), .isEmpty(true),
    ])
  }

  @Test func aSilenceHasALinePerWindowAndAnEndAtOnce() {
    run(
      [
        .report(0, Self.report(10, 10)), .report(1, Self.report(10, 0)), .report(2, Self.report(10, 0)),
        .report(3, Self.silent(2.9), ["silent 2.9 30 8 in 1.0"]),
      ] + (4..<13).map { .report(Double($0), Self.silent(Double($0) - 0.1)) }
        + [
          .report(13, Self.silent(12.9), ["silent 12.9 30 80 in 10.0"]),
          // The silence was over before the report that tells of its end.
          .report(14, Self.report(10, 5, silence: 13.2), ["answers 13.2 88"]), .report(15, Self.report(10, 10)),
          .look(23), .isEmpty(true),
        ])
  }

  /// Refusals for silence since the last report belong to the silence, whatever the state is now.
  @Test func theEndOfASilenceIsNoOverload() {
    run([
      .report(0, Self.report(10, 10)), .report(3, Self.silent(2.9), ["silent 2.9 30 8 in 3.0"]),
      .report(4, Self.report(10, 2, shed: [.silent: 3], silence: 3.5), ["answers 3.5 11"]), .look(13), .isEmpty(true),
    ])
  }

  @Test func aSilenceBetweenTwoReportsIsTold() {
    run([
      .report(0, Self.report(10, 10)),
      .report(1, Self.report(10, 2, shed: [.silent: 3], silence: 2.2), ["silent 2.2 1 3 in 1.0", "answers 2.2 3"]),
      .look(11), .isEmpty(true),
    ])
  }

  /// Requests may have been refused for an overload in the second in which a silence is noticed.
  @Test func eachLineCountsTheRefusalsOfItsKind() {
    run([
      .report(0, Self.report(10, 10)),
      .report(
        1, Self.silent(2.5, shed: [.silent: 4, .waited: 2, .overload: 1]),
        ["silent 2.5 30 4 in 1.0", "overloaded 10 0 3 in 1.0"]),
      .report(2, Self.report(10, 5, silence: 3), ["answers 3.0 4"]), .look(11, ["over 0.0 3"]),
    ])
  }

  @Test func anOverloadThatBecomesASilenceIsNotOver() {
    let overloaded = Self.report(.overloaded, 10, 5, shed: [.overload: 5])
    run([
      .report(0, overloaded, ["overloaded 10 5 5 in 1.0"]), .report(5, Self.silent(4.5), ["silent 4.5 30 8 in 5.0"]),
      .report(15, Self.silent(14.5), ["silent 14.5 30 8 in 10.0"]),
      .report(20, Self.report(10, 5, silence: 19), ["answers 19.0 16", "over 0.0 5"]), .look(25), .isEmpty(true),
    ])
  }

  /// Without requests it can't be found out whether the upstream answers again, and there is nothing new to say.
  @Test func aSilenceWithoutRequestsIsToldOnce() {
    run(
      [.report(0, Self.report(10, 10)), .report(1, Self.silent(2.5), ["silent 2.5 30 8 in 1.0"])]
        + (2..<100).map { .report(Double($0), Self.report(.silent, used: 0, silence: Double($0) + 1.5)) } + [
          .next(nil), .isEmpty(false), .report(100, Self.silent(101.5, shed: [:]), ["silent 101.5 30 0 in 1.0"]),
          .report(101, Self.report(10, 10, silence: 102), ["answers 102.0 8"]),
        ])
  }

  @Test func theEndOfASilenceWithoutRequestsIsNotABeginToo() {
    run(
      [.report(0, Self.report(10, 10)), .report(1, Self.silent(2.5), ["silent 2.5 30 8 in 1.0"])]
        + (2..<20).map { .report(Double($0), Self.report(.silent, used: 0, silence: Double($0) + 1.5)) } + [
          .report(20, Self.report(1, 1, shed: [.silent: 2], silence: 21), ["answers 21.0 10"]), .look(30),
          .isEmpty(true),
        ])
  }

  /// Load control may be turned off, or forget the upstream: then it is not known whether the upstream answers.
  @Test func anEndWithoutASignOfTheUpstreamHasNoLine() {
    run([
      .report(0, Self.silent(2.5), ["silent 2.5 30 8 in 1.0"]), .report(1, Self.report(used: 0, 0, 0)), .look(10),
      .isEmpty(true),
    ])
  }

  @Test func pausesHaveALineWhenTheyBeginAndNotWhileTheyLast() {
    run([
      .paced(0, left: 5, begun: 1, ["paused 5.0 1 0"]), .paced(1, left: 4), .paced(5),
      .paced(6, left: 2, begun: 1), .paced(8, left: 3, begun: 2), .look(10, ["paused 3.0 3 0 in 10.0"]), .paced(11),
      .look(20), .isEmpty(true),
    ])
  }

  @Test func theLineOfAPauseCountsWhatIsRefusedInIt() {
    run([
      .paced(0, left: 30, begun: 1, ["paused 30.0 1 0"]), .paced(1, left: 29, refused: 4),
      .paced(2, left: 28, refused: 3), .look(10, ["paused 29.0 0 7 in 10.0"]), .look(20), .isEmpty(false),
      // The last report of the pause has the refusals of its last second.
      .paced(30, refused: 2, ["paused 0.0 0 2"]), .paced(31, refused: 1, ["paced 1 in 1.0"]), .look(41), .isEmpty(true),
    ])
  }

  @Test func refusalsByTheRateAloneHaveTheirOwnLine() {
    run([
      .paced(0, refused: 5, ["paced 5 in 1.0"]), .paced(1, refused: 20), .paced(2, refused: 22), .next(10),
      .look(10, ["paced 42 in 10.0"]), .look(20), .isEmpty(true),
    ])
  }

  @Test func healthyLoadLeavesNoLine() {
    run((0..<100).map { .report(Double($0), Self.report(used: 30, 800, 800)) } + [.isEmpty(true), .next(nil)])
  }

  private func run(_ steps: [Step], sourceLocation: SourceLocation = #_sourceLocation) {
    var notes = UpstreamNotes(length: 10)
    for (index, step) in steps.enumerated() {
      let (lines, expected): ([UpstreamNotes.Line], [String])
      switch step {
      case .gaveUp(let phase, let seconds, let time, let texts):
        (lines, expected) = (notes.gaveUp(in: phase, after: seconds, at: Self.time(time)), texts)
      case .limited(let time, let texts): (lines, expected) = (notes.limited(at: Self.time(time)), texts)
      case .paced(let time, let left, let begun, let refused, let texts):
        let report = PauseReport(left: left, begun: begun, refused: refused)
        (lines, expected) = (notes.paced(report, at: Self.time(time)), texts)
      case .report(let time, let report, let texts):
        (lines, expected) = (notes.report(report, at: Self.time(time)), texts)
      case .look(let time, let texts): (lines, expected) = (notes.timePassed(at: Self.time(time)), texts)
      case .next(let time):
        #expect(notes.nextEnd == time.map(Self.time), "step \(index)", sourceLocation: sourceLocation)
        continue
      case .isEmpty(let isEmpty):
        #expect(notes.isEmpty == isEmpty, "step \(index)", sourceLocation: sourceLocation)
        continue
      }
      #expect(lines.map(Self.text) == expected, "step \(index)", sourceLocation: sourceLocation)
    }
  }

  private static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000 + Int64((seconds * 1e9).rounded()))
  }

  private static func text(_ line: UpstreamNotes.Line) -> String {
    func tenth(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }
    switch line {
    case .overloaded(let offered, let served, let shed, let limit, let baseline, let window):
      #expect(limit == 8 && baseline == 0.025)
      return "overloaded \(offered) \(served) \(shed) in \(tenth(window))"
    case .silent(let seconds, let underWay, let shed, let window):
      return "silent \(tenth(seconds)) \(underWay) \(shed) in \(tenth(window))"
    case .gaveUp(let count, let phase, let age, let window):
      return "gave up \(count) \(phase) \(tenth(age))" + (window.map { " in \(tenth($0))" } ?? "")
    case .limited(let count, let window): return "limited \(count)" + (window.map { " in \(tenth($0))" } ?? "")
    case .paused(let seconds, let count, let refused, let window):
      return "paused \(tenth(seconds)) \(count) \(refused)" + (window.map { " in \(tenth($0))" } ?? "")
    case .paced(let refused, let window): return "paced \(refused) in \(tenth(window))"
    case .overloadIsOver(let seconds, let shed): return "over \(tenth(seconds)) \(shed)"
    case .answersAgain(let seconds, let shed): return "answers \(tenth(seconds)) \(shed)"
    }
  }
}
