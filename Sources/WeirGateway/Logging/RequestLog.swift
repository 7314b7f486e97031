import WeirIO
import WeirTransport

/// The logs that all workers share.
struct SharedLogs: Sendable {
  let log: Logger
  let failures: FailureLog
  let upstreams: UpstreamLog

  /// - Parameter window: Seconds for which similar events are counted after the first.
  init(_ log: Logger, window: Double) {
    self.log = log
    failures = FailureLog(log, window: window)
    upstreams = UpstreamLog(log, window: window)
  }
}

/// The log of one worker's requests. Confined to its loop.
final class RequestLog {
  let log: Logger
  let access: AccessRecorder
  private let logs: SharedLogs
  private let loop: EventLoop
  private let timer = LoopTimer()

  init(_ logs: SharedLogs, on loop: EventLoop) {
    log = logs.log
    self.logs = logs
    self.loop = loop
    access = AccessRecorder(on: loop)
  }

  func failed(_ request: FailedRequest) {
    guard log.level <= .warn else { return }
    let now = MonotonicTime.now
    if logs.failures.note(request, at: now) { lookAgain(at: now) }
  }

  /// A client left `seconds` after its request was first forwarded.
  func abandoned(_ upstream: Destination, in phase: AbandonedPhase, after seconds: Double) {
    note(upstream) { $0.gaveUp(in: phase, after: seconds, at: $1) }
  }

  /// The upstream has answered 429.
  func limited(_ upstream: Destination) {
    note(upstream) { $0.limited(at: $1) }
  }

  private func note(
    _ upstream: Destination, _ event: (inout UpstreamNotes, MonotonicTime) -> [UpstreamNotes.Line]
  ) {
    guard log.level <= .warn else { return }
    let now = MonotonicTime.now
    logs.upstreams.note(upstream) { event(&$0, now) }
    lookAgain(at: now)
  }

  /// Makes sure that the log is looked at when its next window, of any kind, ends.
  private func lookAgain(at now: MonotonicTime) {
    if !timer.isArmed { look(at: now) }
  }

  private func look(at now: MonotonicTime) {
    let next = [logs.failures.windowsEnded(at: now), logs.upstreams.windowsEnded(at: now)].compactMap(\.self).min()
    if let next { loop.schedule(timer, at: next, handler: self) }
  }
}

extension RequestLog: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) { look(at: now) }
}
