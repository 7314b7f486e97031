/// How long a first attempt has for its response's head before a second one starts beside it.
public enum HedgeDelay: Sendable, Hashable {
  /// So many seconds after the attempt went on the wire.
  case seconds(Double)
  /// As long as this share of the destination's recent attempts took, from the request on the wire to the final head:
  /// with 0.95, about one request in twenty is hedged. Clamped to 0.5...0.999.
  ///
  /// A destination's responses are counted from the first request on that asks for this. With less than 100 of them in
  /// the last 60 s there is no hedge.
  case quantile(Double)
}

/// What became of a second attempt that was to start beside a slow one (``Request/hedge(after:limit:)``).
public enum HedgeEvent: String, Sendable, CaseIterable {
  /// It is on the wire.
  case started
  /// It gave the answer.
  case won
  /// Another attempt gave the answer, or none did.
  case lost
  /// The retry budget was used up, the destination's circuit is open, or no place was free among its attempts.
  case denied
}

/// What a request said about hedging.
package struct HedgePlan: Sendable, Hashable {
  package let delay: HedgeDelay
  package let limit: Int

  package init(delay: HedgeDelay, limit: Int) {
    self.delay = delay
    self.limit = limit
  }
}
