import Synchronization
import WeirIO

/// What a failed request's line says. Without path and client: those are in the access log.
struct FailedRequest: Sendable {
  struct Kind: Hashable, Sendable {
    var route: String
    var status: Int
    var outcome: String
  }

  var kind: Kind
  var method: String
  var upstream: String
  var seconds: Double
  var attempts: Int
  var error: String
  var text: String
}

/// The lines of failed requests, at most one in a while for each kind. Shared by all workers.
final class FailureLog: Sendable {
  private let log: Logger
  /// Seconds.
  private let window: Double
  private let limiter: Mutex<FailureLimiter<FailedRequest.Kind, FailedRequest>>

  init(_ log: Logger, window: Double) {
    self.log = log
    self.window = window
    limiter = Mutex(FailureLimiter(length: window))
  }

  /// True: a window has begun, whose end somebody has to look for.
  func note(_ request: FailedRequest, at now: MonotonicTime) -> Bool {
    let isFirst = limiter.withLock { $0.note(request.kind, request, at: now) }
    if isFirst { write(request) }
    return isFirst
  }

  /// Writes what windows held that have ended; returns when the next one does.
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
        "status": .integer(request.kind.status),
        "outcome": .string(request.kind.outcome), "upstream": .string(request.upstream),
        "seconds": .seconds(request.seconds), "attempts": .integer(request.attempts), "error": .string(request.error),
        "text": .string(request.text),
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

/// What one worker logs of requests. Confined to its loop.
final class RequestLog {
  let log: Logger
  private let failures: FailureLog
  private let loop: EventLoop
  private let timer = LoopTimer()

  init(_ log: Logger, _ failures: FailureLog, on loop: EventLoop) {
    self.log = log
    self.failures = failures
    self.loop = loop
  }

  func failed(_ request: FailedRequest) {
    guard log.level <= .warn else { return }
    let now = MonotonicTime.now
    guard failures.note(request, at: now), !timer.isArmed else { return }
    lookAgain(failures.windowsEnded(at: now))
  }

  private func lookAgain(_ time: MonotonicTime?) {
    if let time { loop.schedule(timer, at: time, handler: self) }
  }
}

extension RequestLog: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    lookAgain(failures.windowsEnded(at: now))
  }
}
