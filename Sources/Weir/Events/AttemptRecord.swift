/// An attempt that is over, with its place in a trace: all that a span of it says
/// (``EventMonitor/request(_:didRecordAttempt:)``).
public struct AttemptRecord: Sendable {
  /// A redirect that was followed within the attempt.
  public struct Redirect: Sendable, Hashable {
    /// The status of the response that redirected.
    public let status: Int
    /// The scheme, host and port to which it led.
    public let destination: Destination
    /// Seconds from the attempt's start to the redirect.
    public let elapsed: TimeInterval

    package init(status: Int, destination: Destination, elapsed: TimeInterval) {
      (self.status, self.destination, self.elapsed) = (status, destination, elapsed)
    }
  }

  /// The attempt's number, 1 for the first.
  public let number: Int
  /// The costs of the attempt: its interval, which begins when it goes on the wire, its phases, its status, the peer's
  /// address and port, the protocol.
  public let metrics: TransferMetrics
  /// The error that retriers are asked about; nil without one.
  public let error: WeirError?
  private let hop: HopRequest
  private let notes: Notes

  /// The facts about an attempt that are known before its end.
  package struct Notes: Sendable {
    package var traceContext: TraceContext?
    package var parent: TraceContext?
    package var previous: TraceContext?
    package var destination: Destination?
    package var endpoint: String?
    package var operation: NamedOperation?
    package var retryReason: RetryReason?
    package var isHedge = false
    package var isAbandoned = false
    package var redirects: [Redirect] = []

    package init() {}
  }

  init(number: Int, _ hop: HopRequest, _ metrics: TransferMetrics, _ error: WeirError?, _ notes: Notes) {
    (self.number, self.hop, self.metrics, self.error, self.notes) = (number, hop, metrics, error, notes)
  }

  package init(
    number: Int, url: URL, method: HTTPMethod, _ metrics: TransferMetrics, _ error: WeirError?, _ notes: Notes
  ) {
    self.init(number: number, HopRequest(plain: url, method: method), metrics, error, notes)
  }

  package var namedOperation: NamedOperation? { notes.operation }

  // MARK: The place in a trace

  /// The attempt's place in a trace, as its `traceparent` and `tracestate` say; nil without one, and for a request with a
  /// `traceparent` of its own.
  public var traceContext: TraceContext? { notes.traceContext }
  /// The parent of the attempt's span; nil if the attempt is no span. Then ``traceContext`` is what
  /// ``SessionConfiguration/traceContext`` gave, unchanged.
  public var parent: TraceContext? { notes.parent }
  /// The span of the attempt that was on the wire before this one, or is still; nil for the first span.
  public var previous: TraceContext? { notes.previous }

  /// The identifier of the trace: 32 lower-case hexadecimal digits. Made when it is asked for, as are the next two.
  public var traceID: String? { traceContext?.traceID }
  /// The identifier of the attempt's span: 16 lower-case hexadecimal digits; nil if it is no span.
  public var spanID: String? { parent == nil ? nil : traceContext?.parentID }
  /// The identifier of the span's parent; nil if the attempt is no span.
  public var parentID: String? { parent?.parentID }

  // MARK: The request

  /// The method as it was sent first.
  public var method: HTTPMethod { HTTPMethod(rawValue: hop.method) }
  /// The URL as it was sent first, without query, fragment and user info, which may hold secrets.
  public var url: String { Redaction.urls(in: Self.withoutQuery(hop.text)) }
  /// The path of that URL, without its query.
  public var path: String { Self.withoutQuery(hop.target ?? "/") }
  /// The scheme, host and port of that URL; nil if it has none.
  public var destination: Destination? { notes.destination }
  /// The name of the request's operation (``Request/operation(_:)``); nil without one.
  public var operation: String? { notes.operation?.name }
  /// The name of the endpoint to which the attempt went first, if its destination has an ``EndpointGroup``.
  public var endpoint: String? { notes.endpoint }

  // MARK: Its part in the request

  /// The reason for which the attempt was made, if it is a retry.
  public var retryReason: RetryReason? { notes.retryReason }
  /// Whether the attempt was begun beside a slow one.
  public var isHedge: Bool { notes.isHedge }
  /// Whether the attempt was ended because another one gave the answer.
  public var isAbandoned: Bool { notes.isAbandoned }
  /// The redirects that were followed, in order.
  public var redirects: [Redirect] { notes.redirects }
  /// A word for ``error``, fit for a metric; nil without an error.
  public var errorLabel: String? { error?.label }

  private static func withoutQuery(_ text: String) -> String {
    String(decoding: text.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }, as: UTF8.self)
  }
}
