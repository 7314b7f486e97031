import Synchronization
import WeirIO

/// The trace of a request whose attempts are spans, or with which a trace begins. Confined to the loop.
final class RequestTrace {
  /// The fields of attempts that are not recorded.
  let context: TraceContext
  /// Nil if nothing is recorded.
  let recorded: RecordedTrace?
  /// The spans of attempts that are being made, by their numbers.
  private var drawn: [Int: TraceContext] = [:]
  /// The span that began last.
  private var last: TraceContext?

  init(context: TraceContext, recorded: RecordedTrace?) {
    (self.context, self.recorded) = (context, recorded)
  }

  /// The place of an attempt, which is drawn when it is first asked for.
  func place(of number: Int, _ draw: () -> UInt64) -> TraceContext {
    guard let recorded else { return context }
    if let known = drawn[number] { return known }
    let place = recorded.parent.recordedChild(parent: draw())
    drawn[number] = place
    return place
  }

  /// The attempt has its task: its place is with that from now on.
  func made(_ number: Int) { drawn[number] = nil }

  /// A span begins. Returns the one that began before.
  func begins(_ span: TraceContext) -> TraceContext? {
    defer { last = span }
    return last
  }
}

/// The facts for an attempt's record, and the place in a trace that its requests carry. Confined to the loop.
final class AttemptNotes {
  /// The attempt's first request.
  let hop: HopRequest
  /// Whether adapters have had the trace's fields in hand, so that none are added.
  let isAdapted: Bool
  var facts: AttemptRecord.Notes

  init(_ hop: HopRequest, isAdapted: Bool, _ facts: AttemptRecord.Notes) {
    (self.hop, self.isAdapted, self.facts) = (hop, isAdapted, facts)
  }

  /// The place whose fields each hop gets that has none; nil if none does.
  var addedContext: TraceContext? { isAdapted ? nil : facts.traceContext }
}

extension HTTPHeaders {
  /// The fields with those of a place in a trace.
  func with(_ trace: TraceContext) -> HTTPHeaders {
    var headers = self
    headers["traceparent"] = trace.traceparent
    headers["tracestate"] = trace.traceState
    return headers
  }
}

extension RequestPipeline {
  /// Decides whether the request's attempts are spans. A request with a `traceparent` of its own is left alone.
  func beginTrace(_ hop: HopRequest?) {
    guard trace == nil, let sampler = monitors.traceSampler, hop?.value(forHeader: "traceparent") == nil else { return }
    trace = core.trace(of: request, by: sampler)
  }

  /// The place in a trace of the attempt with this number; nil without one.
  ///
  /// - Parameter hop: The attempt's request before its adaptation.
  func place(of number: Int, _ hop: HopRequest) -> TraceContext? {
    guard trace != nil || request.trace != nil, hop.value(forHeader: "traceparent") == nil else { return nil }
    return trace?.place(of: number) { core.drawSpan() } ?? request.trace
  }

  /// The notes for an attempt that has a place in a trace, or of which a record is wanted; nil for others.
  func notes(of number: Int, _ hop: HopRequest, isHedge: Bool) -> AttemptNotes? {
    guard trace != nil || request.trace != nil || wants(.records) else { return nil }
    let (initial, isAdapted, reason) = request.fields.withLock { fields in
      let attempt = fields.attempt(number)
      return (attempt?.initial, attempt?.adapted != nil, fields.retryReason)
    }
    var facts = AttemptRecord.Notes()
    facts.traceContext = initial.flatMap { place(of: number, $0) }
    if facts.traceContext != nil { facts.parent = trace?.recorded?.parent }
    facts.destination = core.destination(of: hop)?.destination
    facts.operation = operation
    if isHedge { facts.isHedge = true } else { facts.retryReason = reason }
    trace?.made(number)
    return AttemptNotes(hop, isAdapted: isAdapted, facts)
  }
}

extension TaskRunner {
  /// The attempt goes on the wire.
  func beginSpan() {
    guard let notes, notes.facts.parent != nil, let span = notes.facts.traceContext else { return }
    notes.facts.previous = pipeline.trace?.begins(span)
  }

  /// A redirect is followed.
  func note(redirect status: Int, to target: URL?) {
    guard let notes, let destination = target.flatMap(Destination.init(url:)) else { return }
    let elapsed = MonotonicTime.now.seconds(since: attempt.costs.began)
    notes.facts.redirects.append(AttemptRecord.Redirect(status: status, destination: destination, elapsed: elapsed))
  }

  /// Tells monitors of the attempt, if it was on the wire.
  func announceRecord(_ metrics: TransferMetrics, _ error: @autoclosure () -> WeirError?) {
    guard let notes, machine.hasStarted, pipeline.wants(.records) else { return }
    let record = AttemptRecord(number: number, notes.hop, metrics, error(), notes.facts)
    pipeline.monitors.request(request, didRecordAttempt: record)
  }
}
