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

/// The fate of a second attempt beside a slow one (``Request/hedge(after:limit:)``).
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
