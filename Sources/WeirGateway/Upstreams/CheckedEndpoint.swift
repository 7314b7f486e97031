import WeirIO
import WeirTransport

/// An entry whose endpoints are checked. Confined to the control loop.
final class CheckedUpstream {
  let entry: UpstreamEndpoints
  let terms: CheckTerms
  /// Hears of updates for as long as the entry is checked.
  private let watch: EndpointWatch
  /// The numbers of its endpoints' checks.
  var numbers: [ObjectIdentifier: Int] = [:]

  init(_ entry: UpstreamEndpoints, _ terms: CheckTerms, watch: EndpointWatch) {
    self.entry = entry
    self.terms = terms
    self.watch = watch
    entry.set.add(watch)
  }
}

/// An endpoint that is checked again and again. Confined to the control loop.
final class CheckedEndpoint {
  let endpoint: Endpoint
  let upstream: CheckedUpstream
  let number: Int
  var schedule: CheckSchedule
  /// The check under way.
  var run: CheckRun?
  /// Armed until the next check is due.
  private let timer = LoopTimer()
  private let onDue: (CheckedEndpoint) -> Void

  init(
    _ endpoint: Endpoint, of upstream: CheckedUpstream, number: Int, _ schedule: CheckSchedule,
    onDue: @escaping (CheckedEndpoint) -> Void
  ) {
    self.endpoint = endpoint
    self.upstream = upstream
    self.number = number
    self.schedule = schedule
    self.onDue = onDue
  }

  /// Waits until the next check is due.
  func wait(on loop: EventLoop) { loop.schedule(timer, at: schedule.due, handler: self) }

  /// Ends the check under way without an outcome, and waits for no other one.
  func end(on loop: EventLoop) {
    loop.cancel(timer)
    run?.cancel()
    run = nil
  }
}

extension CheckedEndpoint: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) { onDue(self) }
}
