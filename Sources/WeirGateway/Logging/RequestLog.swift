import WeirIO
import WeirTransport

/// The log of one worker's requests. Confined to its loop.
final class RequestLog {
  let log: Logger
  let access: AccessRecorder
  private let failures: FailureLog
  private let upstreams: UpstreamLog
  private let loop: EventLoop
  private let timer = LoopTimer()

  init(_ log: Logger, _ failures: FailureLog, _ upstreams: UpstreamLog, on loop: EventLoop) {
    self.log = log
    self.failures = failures
    self.upstreams = upstreams
    self.loop = loop
    access = AccessRecorder(on: loop)
  }

  func failed(_ request: FailedRequest) {
    guard log.level <= .warn else { return }
    let now = MonotonicTime.now
    if failures.note(request, at: now) { lookAgain(at: now) }
  }

  /// A client left `seconds` after its request was first forwarded.
  func abandoned(_ upstream: Destination, in phase: AbandonedPhase, after seconds: Double) {
    guard upstreams.isOn else { return }
    let now = MonotonicTime.now
    upstreams.abandoned(upstream, in: phase, after: seconds, at: now)
    lookAgain(at: now)
  }

  /// The upstream has answered 429.
  func limited(_ upstream: Destination) {
    guard upstreams.isOn else { return }
    let now = MonotonicTime.now
    upstreams.limited(upstream, at: now)
    lookAgain(at: now)
  }

  /// Makes sure that the log is looked at when its next window, of any kind, ends.
  private func lookAgain(at now: MonotonicTime) {
    if !timer.isArmed { look(at: now) }
  }

  private func look(at now: MonotonicTime) {
    let next = [failures.windowsEnded(at: now), upstreams.windowsEnded(at: now)].compactMap(\.self).min()
    if let next { loop.schedule(timer, at: next, handler: self) }
  }
}

extension RequestLog: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) { look(at: now) }
}
