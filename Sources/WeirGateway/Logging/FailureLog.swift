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
  /// Nil if no spans of the request are recorded.
  var spanID: String?
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
    log.warn(
      "request failed",
      [
        "route": .string(request.kind.route), "method": .string(request.method),
        "status": .integer(request.kind.status), "outcome": .string(request.kind.outcome),
        "upstream": .string(request.upstream),
        "seconds": .seconds(request.seconds), "attempts": .integer(request.attempts), "error": .string(request.error),
        "text": .string(request.text), "endpoint": .string(request.endpoint ?? ""),
        "trace_id": .string(request.traceID ?? ""), "span_id": .string(request.spanID ?? ""),
      ])
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

/// Decides which failures get a line of their own: of each kind, the first in a window of time. Later ones are counted
/// and reported when the window ends. A value.
struct FailureLimiter<Kind: Hashable & Sendable, Line: Sendable>: Sendable {
  /// The failures of a window after its first.
  struct Rest {
    let kind: Kind
    let count: Int
    /// The line of the last failure.
    let line: Line
  }

  private struct Window {
    var end: MonotonicTime
    var count = 0
    var last: Line?
  }

  /// The length of a window in seconds.
  let length: Double
  private var windows: [Kind: Window] = [:]

  init(length: Double) {
    self.length = length
  }

  var kinds: Int { windows.count }

  /// The time at which the next window ends; nil if there is none.
  var nextEnd: MonotonicTime? { windows.values.map(\.end).min() }

  /// Notes a failure. Returns true if it must be written now.
  mutating func note(_ kind: Kind, _ line: @autoclosure () -> Line, at now: MonotonicTime) -> Bool {
    guard windows[kind] != nil else {
      windows[kind] = Window(end: now.advanced(bySeconds: length))
      return true
    }
    windows[kind]?.count += 1
    windows[kind]?.last = line()
    return false
  }

  /// Returns the counted failures of the windows that have ended. Windows that counted any begin anew, so that a
  /// failure that goes on is reported once in each.
  mutating func ended(at now: MonotonicTime) -> [Rest] {
    var rests: [Rest] = []
    for (kind, window) in windows where window.end <= now {
      if let line = window.last {
        rests.append(Rest(kind: kind, count: window.count, line: line))
        windows[kind] = Window(end: now.advanced(bySeconds: length))
      } else {
        windows[kind] = nil
      }
    }
    return rests
  }
}
