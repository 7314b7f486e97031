/// The receiver of a loop's timers that are due.
package protocol TimerHandler: AnyObject {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime)
}

/// A timer that can be armed again and again on one event loop. Confined to that loop.
///
/// While armed, the loop keeps the timer and its handler alive. Cancelling or firing releases both.
package final class LoopTimer {
  package internal(set) var due = MonotonicTime.distantFuture
  var slot = -1
  var handler: (any TimerHandler)?

  package init() {}

  package var isArmed: Bool { slot >= 0 }
}
