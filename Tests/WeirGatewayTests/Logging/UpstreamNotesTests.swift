import Testing
import WeirIO
import WeirTransport

@testable import WeirGateway

@Suite struct UpstreamNotesTests {
  /// An event at a time in seconds, and the lines that it leads to.
  private enum Step {
    case gaveUp(AbandonedPhase, after: Double, at: Double, [String] = [])
    case limited(Double, [String] = [])
    case report(Double, OverloadReport, [String] = [])
    case look(Double, [String] = [])
    /// When to look next.
    case next(Double?)
    /// Whether nothing is left to say.
    case isEmpty(Bool)
  }

  private static func report(
    _ state: OverloadState = .normal, used: Int = 1, _ offered: Int = 0, _ served: Int = 0,
    shed: [ShedReason: Int] = [:]
  ) -> OverloadReport {
    var report = OverloadReport(state: state, limit: 8, used: used, baseline: 0.025, serviceRate: 40)
    report.offered = offered
    report.served = served
    report.shed = shed
    return report
  }

  private static func report(
    used: Int = 1, _ offered: Int, _ served: Int, shed: [ShedReason: Int] = [:]
  ) -> OverloadReport { report(.normal, used: used, offered, served, shed: shed) }

  @Test func theFirstGiveUpHasALineAtOnceAndTheOthersACountPerWindow() {
    run([
      .isEmpty(true), .next(nil),
      .gaveUp(.upstream, after: 2, at: 1, ["gave up 1 upstream 2.0 in 0.0"]), .next(11), .isEmpty(false),
      .gaveUp(.queue, after: 9, at: 2), .gaveUp(.queue, after: 1, at: 3), .gaveUp(.upstream, after: 3, at: 4),
      .gaveUp(.queue, after: 5, at: 10.9), .look(10.9), .next(11),
      // The phase of most of them, and the median of their ages.
      .look(11, ["gave up 4 queue 5.0 in 10.0"]), .next(21),
      // After a window with events comes another window.
      .gaveUp(.upstream, after: 4, at: 12), .look(21, ["gave up 1 upstream 4.0 in 10.0"]),
      .look(31), .next(nil), .isEmpty(true),
      .gaveUp(.queue, after: 1, at: 32, ["gave up 1 queue 1.0 in 0.0"]),
      // If the end of a window was not looked at, the line covers all of the time since its begin.
      .gaveUp(.queue, after: 2, at: 60, ["gave up 1 queue 2.0 in 28.0"]),
    ])
  }

  @Test func giveUpsInTheBodyAreNoSignOfASlowUpstream() {
    run([.gaveUp(.body, after: 2, at: 1), .isEmpty(true), .next(nil), .look(100)])
  }

  @Test func theMedianIsOfTheFirstHundred() {
    var steps: [Step] = [.gaveUp(.queue, after: 1, at: 0, ["gave up 1 queue 1.0 in 0.0"])]
    for number in 1...1_000 { steps.append(.gaveUp(.queue, after: Double(number), at: 1)) }
    run(steps + [.look(10, ["gave up 1000 queue 51.0 in 10.0"])])
  }

  @Test func answersOf429AreCounted() {
    run([
      .limited(0, ["limited 1 in 0.0"]), .limited(1), .limited(2), .limited(3), .look(10, ["limited 3 in 10.0"]),
      .look(20), .isEmpty(true),
    ])
  }

  /// An event of one kind does not delay the line of another.
  @Test func eachKindHasItsOwnWindow() {
    run([
      .limited(0, ["limited 1 in 0.0"]), .gaveUp(.queue, after: 1, at: 5, ["gave up 1 queue 1.0 in 0.0"]), .next(10),
      .limited(6), .gaveUp(.queue, after: 1, at: 6), .look(10, ["limited 1 in 10.0"]), .next(15),
      .look(15, ["gave up 1 queue 1.0 in 10.0"]), .next(20),
    ])
  }

  @Test func anOverloadHasALinePerWindowAndAnEnd() {
    let overloaded = Self.report(.overloaded, 100, 40, shed: [.overload: 50, .waited: 10])
    run(
      [.report(0, Self.report(100, 40)), .isEmpty(true), .report(1, overloaded, ["overloaded 100 40 60 in 0.0"])]
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
      .report(0, overloaded, ["overloaded 10 5 5 in 0.0"]), .report(9, Self.report()), .report(9.5, overloaded),
      .look(10, ["overloaded 10 5 5 in 10.0"]), .look(19), .look(20, ["over 9.5 10"]), .isEmpty(true),
    ])
  }

  /// Refusals before the state is entered have a line too: otherwise callers would be refused and the log not say so.
  @Test func refusalsInTheNormalStateAreAnOverload() {
    run([
      .report(0, Self.report(10, 9, shed: [.waited: 1]), ["overloaded 10 9 1 in 0.0"]), .next(10),
      .look(10, ["over 0.0 1"]), .isEmpty(true),
    ])
  }

  @Test func aSilenceHasALinePerWindowAndAnEndAtOnce() {
    let silent = Self.report(.silent, used: 30, 10, 0, shed: [.silent: 8])
    run(
      [
        .report(0, Self.report(10, 10)), .report(1, Self.report(10, 0)), .report(2, Self.report(10, 0)),
        // Seconds since the upstream was last heard of.
        .report(3, silent, ["silent 3.0 30 8 in 0.0"]),
      ] + (4..<13).map { .report(Double($0), silent) }
        + [
          .report(13, silent, ["silent 13.0 30 80 in 10.0"]), .report(14, Self.report(10, 5), ["answers 11.0 88"]),
          .report(15, Self.report(10, 10)), .look(23), .isEmpty(true),
        ])
  }

  /// Refusals for silence since the last report belong to the silence, whatever the state is now.
  @Test func theEndOfASilenceIsNoOverload() {
    let silent = Self.report(.silent, used: 30, 10, 0, shed: [.silent: 8])
    run([
      .report(0, Self.report(10, 10)), .report(3, silent, ["silent 3.0 30 8 in 0.0"]),
      .report(4, Self.report(10, 2, shed: [.silent: 3]), ["answers 1.0 11"]), .look(13), .isEmpty(true),
    ])
  }

  @Test func aSilenceBetweenTwoReportsIsTold() {
    run([
      .report(0, Self.report(10, 10)),
      .report(1, Self.report(10, 2, shed: [.silent: 3]), ["silent 0.0 1 3 in 0.0", "answers 0.0 3"]),
      .look(11), .isEmpty(true),
    ])
  }

  @Test func anOverloadThatBecomesASilenceIsNotOver() {
    let overloaded = Self.report(.overloaded, 10, 5, shed: [.overload: 5])
    let silent = Self.report(.silent, used: 30, 10, 0, shed: [.silent: 8])
    run([
      .report(0, overloaded, ["overloaded 10 5 5 in 0.0"]), .report(5, silent, ["silent 5.0 30 8 in 0.0"]),
      .report(15, silent, ["silent 15.0 30 8 in 10.0"]),
      .report(20, Self.report(10, 5), ["answers 15.0 16", "over 0.0 5"]), .look(25), .isEmpty(true),
    ])
  }

  /// Hours without a request are not a silence of the upstream.
  @Test func aLullDoesNotCountAsSilence() {
    let silent = Self.report(.silent, used: 9, 10, 0, shed: [.silent: 1])
    run([
      .report(0, Self.report(10, 10)), .report(3_600, Self.report(used: 0)), .report(3_601, Self.report(10, 0)),
      .report(3_603, silent, ["silent 3.0 9 1 in 0.0"]),
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
      return "gave up \(count) \(phase) \(tenth(age)) in \(tenth(window))"
    case .limited(let count, let window): return "limited \(count) in \(tenth(window))"
    case .overloadIsOver(let seconds, let shed): return "over \(tenth(seconds)) \(shed)"
    case .answersAgain(let seconds, let shed): return "answers \(tenth(seconds)) \(shed)"
    }
  }
}
