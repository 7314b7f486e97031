@testable import WeirTransport

extension ExchangeSimulationTests {
  /// A shell of an ``AttemptMachine``, in the manner of ``WeirTransport/Attempt``.
  final class Attempt: HedgeRunner, CustomStringConvertible {
    let number: Int
    private unowned let exchange: Exchange
    private unowned let world: World
    private(set) var machine = AttemptMachine()
    private(set) var wire: Wire?
    /// Slots that it holds, also one that it has not heard of yet.
    var slots = 0
    private var ticket: UInt64?
    private(set) var status: Int?
    private(set) var isLost = false
    private(set) var discardsBody = false
    private var hasGivenUp = false
    private(set) var ends = 0

    /// The transfer.
    struct Wire {
      var isReading = true
      var isCancelled = false
    }

    init(number: Int, _ exchange: Exchange, _ world: World) {
      self.number = number
      self.exchange = exchange
      self.world = world
    }

    var description: String { "\(exchange.number).\(number)" }

    /// Whether libcurl may tell something of it.
    var isHeard: Bool { wire?.isCancelled == false }

    // MARK: The slot

    func admit() { perform(machine.admit()) }

    private func ask() {
      if isRejectedByCircuit { return leave() }
      switch world.ask(self) {
      case .admitted:
        slots += 1
        granted(machine.question)
      case .waiting(let ticket): self.ticket = ticket
      case .queueFull:
        world.see("queue full")
        exchange.wasRejected(self)
      }
    }

    private var isRejectedByCircuit: Bool {
      guard world.chance(20) else { return false }
      world.see("circuit open")
      return true
    }

    /// The wait for a slot is over without one.
    private func leave() {
      perform(machine.withdraw())
      exchange.wasRejected(self)
    }

    func admissionTimesOut() {
      guard machine.wait == .first else { return }
      world.see("admission timeout")
      leave()
    }

    func granted(_ question: AttemptMachine.Question) {
      guard machine.awaits(question) else {
        world.see("a slot comes too late")
        return giveBack()
      }
      if isRejectedByCircuit {
        giveBack()
        return leave()
      }
      let isWanted = exchange.machine.stage == .trying && exchange.machine.present == number
      if !isWanted { world.violate("\(self) waits, and is not wanted") }
      ticket = nil
      perform(machine.granted())
    }

    func beginsWithSlot() {
      slots += 1
      machine.begins()
    }

    func startBesideAnother() { perform(machine.granted()) }

    func decideHedge(_ event: HedgeEvent) {}

    private func giveBack() {
      if slots != 1 { world.violate("\(self) gives a slot back and has \(slots)") }
      slots -= 1
      world.release()
    }

    // MARK: The wire

    func hopStarts() {
      if machine.hasStarted { world.violate("\(self) starts twice") }
      if ends > 0 { world.violate("\(self) starts after its end") }
      if slots != 1 || machine.place != .slot { world.violate("\(self) starts with \(slots) slots") }
      exchange.attemptBegan(self)
      machine.hopStarts()
    }

    func send() { wire = Wire() }

    func headArrives(_ status: Int) {
      self.status = status
      let goesOn = exchange.didReceiveHead(self, status)
      if !goesOn || isLost { return cancelTransfer() }
      if !machine.reads { wire?.isReading = false }
    }

    func bodyArrives() {
      if !machine.reads {
        wire?.isReading = false
      } else if discardsBody {
        if world.chance(4) { giveUp() }
      } else if !exchange.didReceiveBody(self) {
        cancelTransfer()
      }
    }

    /// The rest of an unwanted body is too much, or does not come.
    private func giveUp() {
      world.see("body given up")
      hasGivenUp = true
      cancelTransfer()
    }

    func discardBody() { discardsBody = true }

    func transferEnds(failing: Bool) {
      guard let ended = wire else { return }
      wire = nil
      if isLost { return }
      let fails = failing || ended.isCancelled
      // How the end of an unwanted body came is of no interest.
      let isError = discardsBody ? ended.isCancelled && !hasGivenUp : fails
      if machine.transferEnded(failed: fails) { exchange.drains(self) } else { exchange.finish(self, failed: isError) }
    }

    private func cancelTransfer() {
      guard wire?.isCancelled == false else { return }
      wire?.isCancelled = true
      world.cancelled(self)
    }

    // MARK: Steering

    func hold() { perform(machine.hold(.sink)) }

    func release() { perform(machine.release(.sink)) }

    func cancel() {
      hasGivenUp = false
      perform(machine.cancel())
    }

    func lose() {
      isLost = true
      cancelTransfer()
    }

    func end() {
      ends += 1
      if ends > 1 { world.violate("\(self) ends \(ends) times") }
      perform(machine.end())
    }

    private func perform(_ actions: AttemptMachine.Actions) {
      if actions.contains(.withdraw), let ticket {
        world.admission.withdraw(ticket)
        self.ticket = nil
      }
      if actions.contains(.release) { giveBack() }
      if actions.contains(.pauseReceiving) { wire?.isReading = false }
      if actions.contains(.ask) { ask() }
      if actions.contains(.startHop) { exchange.attemptIsDue(self) }
      if actions.contains(.resumeReceiving) { wire?.isReading = true }
      if actions.contains(.cancelTransfer) { cancelTransfer() }
      if actions.contains(.conclude) { exchange.attemptConcludes(self) }
      if actions.contains(.end) { exchange.attemptWasCancelled(self) }
      if !actions.isDisjoint(with: [.park, .unpark, .askAgain]) { world.violate("\(self) is parked") }
    }

    /// What must hold between two steps.
    func check() {
      guard let wire, !isLost else { return }
      if ends > 0 { world.violate("\(self) has ended and is on the wire") }
      if slots != 1 { world.violate("\(self) is on the wire with \(slots) slots") }
      if wire.isReading, !wire.isCancelled, !machine.reads { world.violate("\(self) reads in \(machine)") }
    }
  }
}
