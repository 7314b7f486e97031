/// One exchange as observers see it: a caller's request and all its attempts, until it settles. Confined to the loop.
package protocol TransportExchange: AnyObject {
  /// The admission of its attempts at its destination, which is that of its initial URL.
  var admission: ExchangeAdmission { get }
  /// The method as the caller spells it; nil when there was no request.
  var method: String? { get }
  /// The path of the initial URL, without its query; nil when there was no request. Made when it is asked for.
  var path: String? { get }
  /// The observer of the exchange and its attempts.
  var observer: (any TransportObserver)? { get }
  /// The operation that it is part of; nil if nobody gave it a name.
  var operation: NamedOperation? { get }
  /// The exchange's trace, if that is sampled.
  var sampledTrace: TraceContext? { get }
  /// The identifier of the exchange's span in that trace, if it is recorded.
  var recordedSpan: UInt64? { get }
}

extension TransportExchange {
  package var recordedSpan: UInt64? { nil }

  /// Nil when there was no URL.
  package var destination: Destination? { admission.state?.destination }
}

/// How an exchange ended.
package struct ExchangeEnd: Sendable {
  package var outcome: RequestOutcome
  /// Whether the destination is to blame for the outcome.
  package var isDestinationsFault: Bool
  /// The status of the last response; nil without one.
  package var status: Int?
  /// The number of attempts that were put on the wire.
  package var attempts: Int
  /// Seconds from the beginning to the end.
  package var duration: Double
  /// Seconds that serializing the values for the caller took; nil where none was made.
  package var serialization: Double?

  package init(
    outcome: RequestOutcome, isDestinationsFault: Bool, status: Int? = nil, attempts: Int, duration: Double,
    serialization: Double? = nil
  ) {
    self.outcome = outcome
    self.isDestinationsFault = isDestinationsFault
    self.status = status
    self.attempts = attempts
    self.duration = duration
    self.serialization = serialization
  }
}

/// Hears of each event of a transport's destinations and connections once, on the loop. It must not block.
package protocol DestinationObserver: AnyObject {
  /// The events that the observer wants to hear of.
  var transportInterests: TransportInterests { get }

  func connection(_ event: ConnectionEvent)
  /// How many retries the budget would grant now.
  func destination(_ destination: Destination, availableRetries: Double)
  func destination(_ destination: Destination, entered state: CircuitState)
  func destination(_ destination: Destination, entered state: OverloadState)
  /// The values of the destination's load control, at most once a second.
  func destination(_ destination: Destination, overload report: OverloadReport)
  /// The destination has asked for a pause, or one goes on or is over; at most once a second, and at each beginning.
  func destination(_ destination: Destination, pause report: PauseReport)
  /// An endpoint was ejected, or is back.
  func destination(_ destination: Destination, endpoint event: EndpointEvent)
}

/// Hears of exchanges and their attempts as well.
package protocol TransportObserver: DestinationObserver {
  // MARK: Exchanges

  /// The exchange's destination and method are known, or it is known that it has none.
  func exchangeBegan(_ exchange: any TransportExchange)
  /// A credential was waited for, or could not be had. The client's adapters tell their own observers.
  ///
  /// - Parameter failed: Why the exchange ends without one; nil if it goes on.
  func exchange(
    _ exchange: any TransportExchange, didAdaptUsing name: String, duration: Double, failed: AdaptationFailure?)
  /// A retry was granted and starts after this many seconds.
  func exchange(
    _ exchange: any TransportExchange, willRetryAfter delay: Double, source: RetryDelaySource, reason: RetryReason)
  /// The retry begins.
  func exchange(_ exchange: any TransportExchange, retriesDueTo reason: RetryReason?)
  /// A retry was denied; at most once per attempt.
  func exchange(_ exchange: any TransportExchange, didDenyRetry reason: RetryDenial.Reason)
  /// A second attempt beside a slow one started, won, lost, or was denied.
  func exchange(_ exchange: any TransportExchange, hedge event: HedgeEvent)
  /// An attempt has waited for its turn by the destination's pace, or was refused after the wait.
  func exchange(_ exchange: any TransportExchange, waitedForPace seconds: Double)
  /// Load control or the pace refused the exchange; nothing of its present attempt was sent.
  func exchange(_ exchange: any TransportExchange, wasShed reason: ShedReason)
  /// The caller has left before the exchange had settled. Not told of a caller that leaves before the exchange's first
  /// attempt.
  func exchange(_ exchange: any TransportExchange, abandonedIn phase: AbandonedPhase)
  /// The last event of the exchange. It is not sent for an exchange that ended before it began.
  func exchange(_ exchange: any TransportExchange, didSettle end: ExchangeEnd)

  // MARK: Attempts

  func exchange(_ exchange: any TransportExchange, didStartAttempt number: Int)
  /// An attempt that was on the wire is over and judged.
  func exchange(
    _ exchange: any TransportExchange, didEndAttempt number: Int, _ report: AttemptReport, error: (any LabelledError)?)
}

extension TransportObserver {
  package func exchange(
    _ exchange: any TransportExchange, didAdaptUsing name: String, duration: Double, failed: AdaptationFailure?
  ) {}
}

/// An observer that several transports, each on its own loop, may share.
package protocol SharedTransportObserver: TransportObserver, Sendable {
  /// A function to call with the seconds that each due timer of an event loop has waited for its turn.
  /// - Parameter name: the loop's, the same in each run of the program.
  func lagObserver(ofLoop name: String) -> @Sendable (Double) -> Void
}

/// The events that an observer wants to hear of besides exchanges and attempts.
package struct TransportInterests: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Connections opened and closed.
  package static let connections = TransportInterests(rawValue: 1)
  /// Connections reused, and idle after use.
  package static let connectionUse = TransportInterests(rawValue: 2)
  /// Retry budgets, circuits and load control.
  package static let resilience = TransportInterests(rawValue: 4)
}

/// Where a request was when its caller gave up: its user cancelled it, or the client's connection to the gateway ended.
public enum AbandonedPhase: String, Sendable, Hashable, CaseIterable {
  /// It waited for a slot of its destination, or for its next attempt.
  case queue
  /// It was sent, and the head of its response had not come.
  case upstream
  /// The head of its response had come: the body was on its way, or the caller's own code was at work on the response.
  case body
}

/// An event in the life of a connection in a session's pool.
public struct ConnectionEvent: Sendable, Hashable {
  /// The kinds of event.
  public enum Kind: String, Sendable, CaseIterable {
    /// A connection was opened, with its TLS handshake if it has one.
    case opened
    /// An attempt used only connections that were already open.
    case reused
    /// An attempt has left its connection open for the next one.
    case idle
    /// The connection was closed.
    case closed
  }

  /// The kind of this event.
  public let kind: Kind
  /// The destination for which the connection was opened. Behind a proxy it is the destination, not the proxy.
  public let destination: Destination

  /// Takes the kind of the event and the connection's destination.
  public init(kind: Kind, destination: Destination) {
    self.kind = kind
    self.destination = destination
  }
}
