/// The receiver of a loop's timers that are due.
package protocol TimerHandler: AnyObject {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime)
}

/// A timer that can be armed again and again on one event loop. Confined to that loop.
///
/// While armed, the loop keeps the timer and its handler alive. Cancelling or firing releases both.
package final class LoopTimer {
  @exclusivity(unchecked) private var time = MonotonicTime.distantFuture
  @exclusivity(unchecked) var slot = -1
  /// The time of the turn in which it fired last.
  @exclusivity(unchecked) var lastTurn = MonotonicTime.distantFuture
  @exclusivity(unchecked) var handler: (any TimerHandler)?

  package init() {}

  /// When it fires, or fired last. It is stored under another name, since code in other modules checks each access to a
  /// stored property.
  package internal(set) var due: MonotonicTime {
    get { time }
    set { time = newValue }
  }

  package var isArmed: Bool { slot >= 0 }
}
