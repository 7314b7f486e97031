/// What is told of one exchange: a request of a caller and whatever attempts it takes, until it settles. On the loop.
package protocol TransportExchange: AnyObject {
  /// What it may ask of its destination, which is that of its initial URL.
  var terms: DestinationTerms { get }
  /// As the caller spells it; nil when there was no request.
  var method: String? { get }
  /// Hears of the exchange and its attempts.
  var observer: (any TransportObserver)? { get }
}

extension TransportExchange {
  /// Nil when there was no URL.
  package var destination: Destination? { terms.state?.destination }
}

/// How an exchange ended.
package struct ExchangeEnd: Sendable {
  package var outcome: RequestOutcome
  /// Whether its destination owes the answer.
  package var isDestinationsFault: Bool
  /// Attempts that were put on the wire.
  package var attempts: Int
  /// Seconds from the beginning to the end.
  package var duration: Double
  /// Seconds that the values for the caller took; nil where none was made.
  package var serialization: Double?

  package init(
    outcome: RequestOutcome, isDestinationsFault: Bool, attempts: Int, duration: Double, serialization: Double? = nil
  ) {
    self.outcome = outcome
    self.isDestinationsFault = isDestinationsFault
    self.attempts = attempts
    self.duration = duration
    self.serialization = serialization
  }
}

/// Hears of what happens in a transport, of each event once, on the loop. It must not block.
package protocol TransportObserver: AnyObject {
  /// What is worth telling.
  var transportInterests: TransportInterests { get }

  // MARK: Exchanges

  /// Its destination and method are known, or it is known that there are none.
  func exchangeBegan(_ exchange: any TransportExchange)
  /// A retry was granted and starts after so many seconds.
  func exchange(
    _ exchange: any TransportExchange, willRetryAfter delay: Double, source: RetryDelaySource, reason: RetryReason)
  /// The retry begins.
  func exchange(_ exchange: any TransportExchange, retriesDueTo reason: RetryReason?)
  /// A retry was turned down; at most once per attempt.
  func exchange(_ exchange: any TransportExchange, didDenyRetry reason: RetryDenial.Reason)
  /// A second attempt beside a slow one started, won, lost, or was denied.
  func exchange(_ exchange: any TransportExchange, hedge event: HedgeEvent)
  /// The last event of the exchange. Not told of one that ended before it began.
  func exchange(_ exchange: any TransportExchange, didSettle end: ExchangeEnd)

  // MARK: Attempts

  func exchange(_ exchange: any TransportExchange, didStartAttempt number: Int)
  /// An attempt that was on the wire is over and judged.
  func exchange(
    _ exchange: any TransportExchange, didEndAttempt number: Int, _ report: AttemptReport, error: (any LabelledError)?)

  // MARK: Destinations and connections

  func connection(_ event: ConnectionEvent)
  /// How many retries the budget would grant now.
  func destination(_ destination: Destination, availableRetries: Double)
  func destination(_ destination: Destination, entered state: CircuitState)
  func destination(_ destination: Destination, concurrencyLimit: Int)
}

/// An observer that several transports may have, on loops of their own.
package protocol SharedTransportObserver: TransportObserver, Sendable {
  /// Hears for how many seconds each due timer of an event loop has waited for its turn.
  /// - Parameter name: the loop's, the same in each run of the program.
  func lagObserver(ofLoop name: String) -> @Sendable (Double) -> Void
}

/// What an observer wants to hear besides exchanges and attempts.
package struct TransportInterests: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Connections opened and closed.
  package static let connections = TransportInterests(rawValue: 1)
  /// Connections reused, and idle after use.
  package static let connectionUse = TransportInterests(rawValue: 2)
  /// Retry budgets, circuits and adaptive limits.
  package static let resilience = TransportInterests(rawValue: 4)
}
