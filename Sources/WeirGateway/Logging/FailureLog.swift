import Synchronization
import WeirIO

/// The facts in a failed request's line. Path and client are left out: they are in the access log.
struct FailedRequest: Sendable {
  struct Kind: Hashable, Sendable {
    var route: String
    var status: Int
    var outcome: String
  }

  var kind: Kind
  var method: String
  var upstream: String
  /// The last one that was tried; nil if the upstream has none of its own.
  var endpoint: String?
  var seconds: Double
  var attempts: Int
  var error: String
  var text: String
  /// Nil without a trace.
  var traceID: String?
}

/// Writes the lines of failed requests, limited per kind and window. Shared by all workers.
final class FailureLog: Sendable {
  private let log: Logger
  /// The length of a window in seconds.
  private let window: Double
  private let limiter: Mutex<FailureLimiter<FailedRequest.Kind, FailedRequest>>

  init(_ log: Logger, window: Double) {
    self.log = log
    self.window = window
    limiter = Mutex(FailureLimiter(length: window))
  }

  /// Notes a failure. Returns true if a window has begun; then the caller must call `windowsEnded` at its end.
  func note(_ request: FailedRequest, at now: MonotonicTime) -> Bool {
    let isFirst = limiter.withLock { $0.note(request.kind, request, at: now) }
    if isFirst { write(request) }
    return isFirst
  }

  /// Reports the failures counted in windows that have ended. Returns the time at which the next window ends.
  func windowsEnded(at now: MonotonicTime) -> MonotonicTime? {
    let (rests, next) = limiter.withLock { ($0.ended(at: now), $0.nextEnd) }
    for rest in rests { write(rest.count, rest.line) }
    return next
  }

  private func write(_ request: FailedRequest) {
    var fields: LogFields = [
      "route": .string(request.kind.route), "method": .string(request.method),
      "status": .integer(request.kind.status),
      "outcome": .string(request.kind.outcome), "upstream": .string(request.upstream),
      "seconds": .seconds(request.seconds), "attempts": .integer(request.attempts), "error": .string(request.error),
      "text": .string(request.text),
    ]
    fields.add("endpoint", request.endpoint.map { .string($0) })
    fields.add("trace_id", request.traceID.map { .string($0) })
    log.warn("request failed", fields)
  }

  private func write(_ count: Int, _ last: FailedRequest) {
    log.warn(
      "more requests failed",
      [
        "count": .integer(count), "window": .double(window), "route": .string(last.kind.route),
        "status": .integer(last.kind.status), "outcome": .string(last.kind.outcome),
        "upstream": .string(last.upstream), "error": .string(last.error), "text": .string(last.text),
      ])
  }
}
