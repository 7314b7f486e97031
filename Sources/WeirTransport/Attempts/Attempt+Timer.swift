import WeirCurl
package import WeirIO

extension Attempt: TimerHandler {
  package func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if machine.stage == .draining {
      unwanted.isGivenUp = true
      delegate?.attemptReceiverIsLate(self)
    } else if machine.hasStarted {
      // The rest of an unwanted body does not come: a new connection is cheaper than waiting.
      unwanted.isGivenUp = true
      transfer?.cancel()
    } else if machine.wait == .first, delegate?.attemptAwaitsSlot(self) ?? false {
      departure = .timedOut
      perform(machine.withdraw())
      reject(.admissionTimeout)
    }
  }
}
