import WeirIO

/// Wakes the load control of one destination while attempts of this loop may wait for it. Bound to the loop.
final class OverloadAlarm {
  let destination: DestinationState
  private let loop: EventLoop
  private let tell: (Destination, OverloadState) -> Void
  private let timer = LoopTimer()

  init(_ destination: DestinationState, loop: EventLoop, tell: @escaping (Destination, OverloadState) -> Void) {
    self.destination = destination
    self.loop = loop
    self.tell = tell
  }

  var isArmed: Bool { timer.isArmed }

  func set(at time: MonotonicTime) {
    guard !timer.isArmed || time < timer.due else { return }
    loop.schedule(timer, at: time, handler: self)
  }

  func cancel() { loop.cancel(timer) }
}

extension OverloadAlarm: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    let (entered, next) = destination.wokeOverload(at: now)
    if let entered { tell(destination.destination, entered) }
    if let next { set(at: next) }
  }
}
