/// Which of the attempts that one request has under way gives its answer: a value. It knows attempts by their numbers.
///
/// The first final head that is worth keeping wins, and the others lose. An attempt that fails, or whose head says no
/// more than a failure would, is out as long as another one runs; the last one is the answer, whatever it brings.
struct HedgeRace: Sendable {
  enum Verdict: Equatable, Sendable {
    /// It is the answer; what else is under way is of no use any more.
    case wins
    /// It is the answer for want of a better one.
    case isLast
    /// It is of no use, as this other one runs still.
    case isOut(successor: Int)
  }

  /// How many second attempts the request may have.
  let limit: Int
  /// The attempts without a final head, oldest first.
  private(set) var runners: [Int] = []
  /// Second attempts that were let begin.
  private(set) var granted = 0

  init(limit: Int) {
    self.limit = max(0, limit)
  }

  /// Whether an answer is still waited for.
  var isOpen: Bool { !runners.isEmpty }

  /// Whether there may be a second attempt now.
  var mayHedge: Bool { isOpen && granted < limit }

  /// The request's next attempt is on the wire, alone.
  mutating func begins(_ number: Int) { runners = [number] }

  /// A second attempt is let begin; it will be on the wire when what comes before that is done, if there is room then.
  mutating func grant() { granted += 1 }

  /// A second attempt is on the wire beside the others.
  mutating func joins(_ number: Int) { runners.append(number) }

  /// A final head has come; nil when this attempt's race is over already.
  mutating func headArrived(_ number: Int, status: Int) -> Verdict? {
    guard runners.contains(number) else { return nil }
    guard Self.isWorthKeeping(status) else { return fails(number) }
    runners = []
    return .wins
  }

  /// It ended before its final head; nil when this attempt's race is over already.
  mutating func fails(_ number: Int) -> Verdict? {
    guard let index = runners.firstIndex(of: number) else { return nil }
    runners.remove(at: index)
    return runners.first.map { .isOut(successor: $0) } ?? .isLast
  }

  /// The request ends for other reasons.
  mutating func abandon() { runners = [] }

  /// Not what another attempt may do better: the server failed, was slow to read the request, or wants less of them.
  private static func isWorthKeeping(_ status: Int) -> Bool {
    status < 500 && status != 408 && status != 425 && status != 429
  }
}
