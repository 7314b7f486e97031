/// The trace in which a request's attempts are recorded as spans (``EventMonitor/traceSampler``).
public final class RecordedTrace: Sendable {
  /// The parent of the attempts' spans: the context of ``SessionConfiguration/traceContext``, or the request's own span.
  public let parent: TraceContext
  /// Whether the trace began with the request. Then ``parent`` is the span of the request itself, which has no parent.
  public let isRoot: Bool
  /// When the request's setup began.
  public let start: Date

  package init(parent: TraceContext, isRoot: Bool, start: Date) {
    (self.parent, self.isRoot, self.start) = (parent, isRoot, start)
  }
}
