import WeirOTLP

/// The spans of a request under way, as a value. Events go to the request's own span. If there is none they go to the span
/// of the next attempt, and after the last attempt to that one's.
struct PendingSpans {
  /// The most events of a request that are kept, as by OpenTelemetry's default for a span: a request may be retried without
  /// end.
  static let mostEvents = 128

  /// Whether the request has a span of its own.
  private let hasRoot: Bool
  private var events: [Span.Event] = []
  /// The span of the attempt that ended last.
  private var last: Span?

  init(hasRoot: Bool) { self.hasRoot = hasRoot }

  mutating func add(_ event: Span.Event) {
    if events.count < Self.mostEvents { events.append(event) }
  }

  /// The attempt that ended last is not followed by another one.
  mutating func deny(_ reason: String) { last?.attributes.append(Attribute("weir.retry.denied", reason)) }

  /// An attempt has ended. Returns the span of the one before, which is finished now.
  mutating func attemptEnded(_ span: Span) -> Span? {
    let finished = last
    last = span
    if !hasRoot {
      last?.events = events + span.events
      events = []
    }
    return finished
  }

  /// The request has settled. Returns the spans that are left.
  ///
  /// - Parameter root: The request's own span; nil if it has none.
  func settled(_ root: Span?) -> [Span] {
    var spans = [last, root].compactMap { $0 }
    if let end = spans.indices.last { spans[end].events += events }
    return spans
  }
}
