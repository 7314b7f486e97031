/// Decides which of a request's concurrent attempts gives the answer. A value, in which attempts are numbers.
///
/// The first final head that is worth keeping wins, and the other attempts lose. An attempt drops out if it fails, or
/// if the status of its head is no better than a failure, as long as another attempt runs. The last attempt gives the
/// answer, whatever it is.
package struct HedgeRace: Sendable {
  package enum Verdict: Equatable, Sendable {
    /// The attempt gives the answer; the other attempts are of no use any more.
    case wins
    /// The attempt gives the answer, as no other attempt is left.
    case isLast
    /// The attempt drops out; `successor` still runs.
    case isOut(successor: Int)
  }

  /// The maximum number of second attempts of the request.
  package let limit: Int
  /// The attempts without a final head, oldest first.
  package private(set) var runners: [Int] = []
  /// Second attempts that were allowed to begin.
  package private(set) var granted = 0

  package init(limit: Int) {
    self.limit = max(0, limit)
  }

  /// Whether an attempt without a final head is left.
  package var isOpen: Bool { !runners.isEmpty }

  /// Whether a second attempt may begin now.
  package var mayHedge: Bool { isOpen && granted < limit }

  /// The request's next attempt is on the wire, alone.
  package mutating func begins(_ number: Int) { runners = [number] }

  /// A second attempt is allowed to begin. It goes on the wire later, after its preparation, if there is a slot then.
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

  /// The attempt ended before its final head; nil when its race is over already.
  package mutating func fails(_ number: Int) -> Verdict? {
    guard let index = runners.firstIndex(of: number) else { return nil }
    runners.remove(at: index)
    return runners.first.map { .isOut(successor: $0) } ?? .isLast
  }

  /// The request ends for other reasons.
  package mutating func abandon() { runners = [] }

  /// Whether the response is the answer. It is not if another attempt may get a better one: the server failed, was slow
  /// to read the request, or asks for fewer requests.
  private static func isWorthKeeping(_ status: Int) -> Bool {
    status < 500 && status != 408 && status != 425 && status != 429
  }
}

/// How long a request waits for the head of its first attempt's response before a second attempt starts beside it.
public enum HedgeDelay: Sendable, Hashable {
  /// This many seconds after the attempt went on the wire.
  case seconds(Double)
  /// The time within which this share of the destination's recent attempts got their final head, counted from the
  /// request on the wire. With 0.95, about one request in twenty is hedged. The share is clamped to 0.5...0.999.
  ///
  /// The latencies of a destination are recorded from the first request on that uses this case. With fewer than 100 of
  /// them in the last 60 s there is no hedge.
  case quantile(Double)
}

/// The fate of a second attempt beside a slow one (``Request/hedge(after:limit:)-(HedgeDelay,_)``).
public enum HedgeEvent: String, Sendable, CaseIterable {
  /// The second attempt is on the wire.
  case started
  /// The second attempt had the first good head, and gives the answer unless that breaks off.
  case won
  /// Another attempt gave the answer, or none did.
  case lost
  /// The second attempt did not start: the retry budget was used up, the destination's circuit was open, the
  /// destination had no free slot, or load control had no place for it.
  case denied
}

/// The delay and the number of second attempts that a request asked for.
package struct HedgePlan: Sendable, Hashable {
  package let delay: HedgeDelay
  package let limit: Int

  package init(delay: HedgeDelay, limit: Int) {
    self.delay = delay
    self.limit = limit
  }
}
