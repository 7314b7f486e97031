/// Which of the attempts that one request has under way gives its answer: a value. It knows attempts by their numbers.
///
/// The first final head that is worth keeping wins, and the others lose. An attempt that fails, or whose head says no
/// more than a failure would, is out as long as another one runs; the last one is the answer, whatever it brings.
package struct HedgeRace: Sendable {
  package enum Verdict: Equatable, Sendable {
    /// It is the answer; what else is under way is of no use any more.
    case wins
    /// It is the answer for want of a better one.
    case isLast
    /// It is of no use, as this other one runs still.
    case isOut(successor: Int)
  }

  /// How many second attempts the request may have.
  package let limit: Int
  /// The attempts without a final head, oldest first.
  package private(set) var runners: [Int] = []
  /// Second attempts that were let begin.
  package private(set) var granted = 0

  package init(limit: Int) {
    self.limit = max(0, limit)
  }

  /// Whether an answer is still waited for.
  package var isOpen: Bool { !runners.isEmpty }

  /// Whether there may be a second attempt now.
  package var mayHedge: Bool { isOpen && granted < limit }

  /// The request's next attempt is on the wire, alone.
  package mutating func begins(_ number: Int) { runners = [number] }

  /// A second attempt is let begin; it will be on the wire when what comes before that is done, if there is room then.
  package mutating func grant() { granted += 1 }

  /// A second attempt is on the wire beside the others.
  package mutating func joins(_ number: Int) { runners.append(number) }

  /// A final head has come; nil when this attempt's race is over already.
  package mutating func headArrived(_ number: Int, status: Int) -> Verdict? {
    guard runners.contains(number) else { return nil }
    guard Self.isWorthKeeping(status) else { return fails(number) }
    runners = []
    return .wins
  }

  /// It ended before its final head; nil when this attempt's race is over already.
  package mutating func fails(_ number: Int) -> Verdict? {
    guard let index = runners.firstIndex(of: number) else { return nil }
    runners.remove(at: index)
    return runners.first.map { .isOut(successor: $0) } ?? .isLast
  }

  /// The request ends for other reasons.
  package mutating func abandon() { runners = [] }

  /// Not what another attempt may do better: the server failed, was slow to read the request, or wants less of them.
  private static func isWorthKeeping(_ status: Int) -> Bool {
    status < 500 && status != 408 && status != 425 && status != 429
  }
}
