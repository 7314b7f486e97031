import Testing

@testable import WeirTransport

@Suite("AttemptMachine")
struct AttemptMachineTests {
  private typealias Actions = AttemptMachine.Actions

  /// An attempt whose first hop is on the wire.
  private func onWire() -> AttemptMachine {
    var machine = AttemptMachine()
    #expect(machine.admit() == .ask)
    #expect(machine.granted() == .startHop)
    machine.hopStarts()
    return machine
  }

  /// The same without a slot, since the caller's code is waited for.
  private func parked(_ reason: AttemptMachine.Holds = .observer) -> AttemptMachine {
    var machine = onWire()
    #expect(machine.hold(reason) == .pauseReceiving)
    #expect(machine.park(for: reason) == .park)
    #expect(machine.parked() == .pauseSending)
    return machine
  }

  @Test("A plain success takes a slot and gives it back")
  func success() {
    var machine = onWire()
    #expect(machine.hasStarted)
    #expect(machine.reads && machine.sends)
    #expect(machine.transferEnded(failed: false) == false)
    #expect(machine.end() == .release)
    #expect(machine.place == .outside)
    #expect(machine.end() == [])
  }

  @Test("An answer to a question that has been withdrawn is told apart")
  func questions() {
    var machine = AttemptMachine()
    _ = machine.admit()
    let first = machine.question
    #expect(machine.awaits(first))
    #expect(machine.withdraw() == .withdraw)
    #expect(!machine.awaits(first))
    #expect(machine.withdraw() == [])
    #expect(machine.admit() == .ask)
    #expect(!machine.awaits(first))
    #expect(machine.awaits(machine.question))
  }

  @Test("An attempt whose end waits for its receiver gives its slot back, once")
  func vacating() {
    var machine = onWire()
    #expect(machine.hold(.sink) == .pauseReceiving)
    #expect(machine.vacate() == .release)
    #expect(machine.transferEnded(failed: false) == true)
    #expect(machine.vacate() == [])
    #expect(machine.release(.sink) == .conclude)
    #expect(machine.end() == [])
  }

  @Test("Reading goes on when the last reason to wait is gone")
  func holds() {
    var machine = onWire()
    #expect(machine.hold(.sink) == .pauseReceiving)
    #expect(machine.hold(.decoding) == .pauseReceiving)
    #expect(machine.release(.sink) == [])
    #expect(machine.release(.sink) == [])
    #expect(!machine.reads)
    #expect(machine.release(.decoding) == .resumeReceiving)
    #expect(machine.release(.decoding) == [])
  }

  @Test("A parked attempt asks for a slot again, and neither reads nor sends until it is there")
  func parking() {
    var machine = parked()
    #expect(!machine.sends)
    #expect(machine.release(.observer) == .askAgain)
    #expect(!machine.reads)
    #expect(machine.granted() == [.unpark, .resumeSending, .resumeReceiving])
    #expect(machine.reads && machine.sends)
    #expect(machine.end() == .release)
  }

  @Test("A response that drains to a slow receiver needs no slot any more")
  func draining() {
    var machine = onWire()
    #expect(machine.drain() == [], "its receiver takes what there is")
    _ = machine.hold(.sink)
    #expect(machine.drain() == .drain)
    machine.drains()
    #expect(machine.drain() == [])
    #expect(machine.sends && !machine.reads)
    #expect(machine.release(.sink) == .resumeReceiving)
    #expect(machine.hold(.sink) == .pauseReceiving)
    #expect(machine.transferEnded(failed: false) == true)
    #expect(machine.vacate() == .unpark)
    #expect(machine.release(.sink) == .conclude)
    #expect(machine.end() == [])
  }

  @Test("A response that is to drain keeps its slot if the destination refuses, and none drains off the wire")
  func drainingRefused() {
    var machine = onWire()
    _ = machine.hold(.sink)
    #expect(machine.drain() == .drain)
    #expect(machine.cancel() == .cancelTransfer)
    #expect(machine.end() == .release)
    var ended = onWire()
    _ = ended.hold(.sink)
    #expect(ended.transferEnded(failed: false) == true)
    #expect(ended.drain() == [])
    var cancelled = onWire()
    _ = cancelled.hold(.sink)
    #expect(cancelled.drain() == .drain)
    cancelled.drains()
    #expect(cancelled.end() == .unpark)
  }

  @Test("An attempt whose question was answered at once is not parked")
  func answeredAtOnce() {
    var machine = onWire()
    _ = machine.hold(.redirect)
    #expect(machine.release(.redirect) == .resumeReceiving)
    #expect(machine.park(for: .redirect) == [])
  }

  @Test("A destination that has too many parked connections leaves the slot")
  func parkingRefused() {
    var machine = onWire()
    _ = machine.hold(.observer)
    #expect(machine.park(for: .observer) == .park)
    #expect(machine.release(.observer) == .resumeReceiving)
  }

  @Test("Another reason to wait comes up while a slot is waited for")
  func heldWhileAsking() {
    var machine = parked(.observer)
    #expect(machine.release(.observer) == .askAgain)
    #expect(machine.hold(.sink) == .pauseReceiving)
    #expect(machine.granted() == [.unpark, .resumeSending])
    #expect(machine.release(.sink) == .resumeReceiving)
  }

  @Test("While the verdict waits for a credential, the response stands without a slot, and may go on after it")
  func verdict() {
    var machine = parked(.verdict)
    #expect(!machine.reads && !machine.sends)
    #expect(machine.drain() == [], "its receiver is not to blame")
    #expect(machine.release(.verdict) == .askAgain)
    #expect(machine.granted() == [.unpark, .resumeSending, .resumeReceiving])
    #expect(machine.end() == .release)
    var kept = onWire()
    _ = kept.hold(.verdict)
    #expect(kept.park(for: .verdict) == .park)
    #expect(kept.release(.verdict) == .resumeReceiving, "no place to park")
    var early = onWire()
    #expect(early.park(for: .verdict) == [], "it has come at once")
  }

  @Test("The verdict is that the request is sent again: the attempt ends in its place")
  func endsWhileHeld() {
    var ended = parked(.verdict)
    #expect(ended.end() == .unpark)
    #expect(ended.release(.verdict) == [])
    var cancelled = parked(.verdict)
    #expect(cancelled.cancel() == .cancelTransfer)
    #expect(cancelled.transferEnded(failed: true) == false)
    #expect(cancelled.end() == .unpark)
    #expect(cancelled.release(.verdict) == [])
    var asking = parked(.verdict)
    _ = asking.release(.verdict)
    #expect(asking.end() == [.withdraw, .unpark])
  }

  @Test("A response that is whole before the verdict waits for it, and one that breaks off does not")
  func wholeBeforeTheVerdict() {
    var whole = parked(.verdict)
    #expect(whole.transferEnded(failed: false) == true)
    #expect(whole.stage == .draining)
    #expect(whole.vacate() == .unpark)
    #expect(whole.release(.verdict) == .conclude, "it goes to the client")
    #expect(whole.end() == [])
    var left = parked(.verdict)
    _ = left.transferEnded(failed: false)
    _ = left.vacate()
    #expect(left.cancel() == .conclude)
    #expect(left.end() == [])
    var broken = parked(.verdict)
    #expect(broken.transferEnded(failed: true) == false)
    #expect(broken.end() == .unpark)
  }

  @Test("A slow receiver is a reason of its own beside the verdict")
  func verdictBesideReceiver() {
    var machine = parked(.verdict)
    #expect(machine.hold(.sink) == .pauseReceiving)
    #expect(machine.release(.verdict) == [])
    #expect(machine.release(.sink) == .askAgain)
    var draining = onWire()
    _ = draining.hold(.sink)
    #expect(draining.drain() == .drain)
    draining.drains()
    #expect(draining.hold(.verdict) == .pauseReceiving)
    #expect(draining.park(for: .verdict) == [], "it has no slot to give")
    #expect(draining.release(.sink) == [])
    #expect(draining.release(.verdict) == .resumeReceiving)
  }

  @Test("Suspending gives up the slot, or the question for one")
  func suspending() {
    var machine = onWire()
    #expect(machine.suspend() == [.pauseReceiving, .pauseSending, .park])
    #expect(machine.parked() == .pauseSending)
    #expect(machine.resume() == .askAgain)
    #expect(machine.suspend() == [.pauseReceiving, .pauseSending, .withdraw])
    #expect(machine.resume() == .askAgain)
    #expect(machine.granted() == [.unpark, .resumeSending, .resumeReceiving])
  }

  @Test("Suspended where parking was refused, the slot is kept and used again")
  func suspendedInSlot() {
    var machine = onWire()
    #expect(machine.suspend() == [.pauseReceiving, .pauseSending, .park])
    #expect(!machine.sends)
    #expect(machine.resume() == [.resumeSending, .resumeReceiving])
  }

  @Test("Between two hops the slot is given back and asked for again")
  func redirect() {
    var machine = onWire()
    #expect(machine.redirected() == [.release, .askAgain])
    #expect(machine.granted() == [.resumeSending, .startHop])
    machine.hopStarts()
    #expect(machine.reads)
    #expect(machine.end() == .release)
  }

  @Test("Suspended between two hops, the next one waits")
  func suspendedBetweenHops() {
    var machine = onWire()
    _ = machine.suspend()
    _ = machine.parked()
    #expect(machine.redirected() == .unpark)
    #expect(machine.resume() == [.resumeSending, .askAgain])
    #expect(machine.suspend() == [.pauseSending, .withdraw])
    #expect(machine.resume() == [.resumeSending, .askAgain])
    #expect(machine.granted() == [.resumeSending, .startHop])
  }

  @Test("The end waits for a receiver that has still to take decoded bytes", arguments: [true, false])
  func draining(isCancelled: Bool) {
    var machine = onWire()
    _ = machine.hold(.sink)
    #expect(machine.transferEnded(failed: false) == true)
    #expect(machine.stage == .draining)
    if isCancelled {
      #expect(machine.cancel() == .conclude)
    } else {
      #expect(machine.release(.sink) == .conclude)
    }
    #expect(machine.end() == .release)
  }

  @Test("A failure does not wait for a receiver")
  func failed() {
    var machine = onWire()
    _ = machine.hold(.sink)
    #expect(machine.transferEnded(failed: true) == false)
  }

  @Test("Cancelled before the wire, between hops and on the wire")
  func cancelling() {
    var waiting = AttemptMachine()
    _ = waiting.admit()
    #expect(waiting.cancel() == [.withdraw, .end])
    var due = onWire()
    _ = due.redirected()
    #expect(due.cancel() == [.withdraw, .end])
    var transferring = onWire()
    #expect(transferring.cancel() == .cancelTransfer)
    #expect(transferring.end() == .release)
    #expect(transferring.cancel() == [])
    var asking = parked()
    _ = asking.release(.observer)
    #expect(asking.cancel() == [.withdraw, .cancelTransfer])
    #expect(asking.end() == .unpark)
  }

  @Test("What ends while a slot is asked for takes the question back", arguments: [true, false])
  func endsWhileAsking(isParked: Bool) {
    var machine = isParked ? parked() : onWire()
    if isParked {
      _ = machine.release(.observer)
      #expect(machine.end() == [.withdraw, .unpark])
    } else {
      _ = machine.redirected()
      #expect(machine.end() == .withdraw)
    }
  }
}
