import WeirIO

@testable import WeirTransport

/// A machine, the time and what the machine says.
final class MachineLine {
  var machine: OverloadMachine
  var now = 0.0
  var freeSlots: Int
  /// Attempts that wait, and those on the wire.
  private(set) var waiting: [OverloadMachine.Ticket] = []
  private(set) var onWire: [OverloadMachine.Ticket] = []

  init(_ settings: OverloadSettings = .default, slots: Int = 512) {
    machine = OverloadMachine(settings, slots: slots, at: Self.time(0))
    freeSlots = slots
  }

  static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000_000 + Int64((seconds * 1e9).rounded()))
  }

  var time: MonotonicTime { Self.time(now) }

  func arrive(priority: Int = 3, timeout: Double? = nil) -> OverloadMachine.Arrival {
    let arrival = machine.arrived(priority: priority, timeout: timeout, hasFreeSlot: freeSlots > 0, at: time)
    switch arrival {
    case .letThrough(let ticket): admit(ticket)
    case .waits(let ticket): waiting.append(ticket)
    case .refused: break
    }
    return arrival
  }

  func send() -> OverloadMachine.Ticket? {
    guard case .letThrough(let ticket) = arrive() else { return nil }
    return ticket
  }

  func wait(priority: Int = 3, timeout: Double? = nil) -> OverloadMachine.Ticket? {
    guard case .waits(let ticket) = arrive(priority: priority, timeout: timeout) else { return nil }
    return ticket
  }

  func answer(_ ticket: OverloadMachine.Ticket, status: Int = 200) {
    machine.answered(ticket, status: status, at: time)
    left(ticket)
  }

  func giveUp(_ ticket: OverloadMachine.Ticket) {
    machine.ended(ticket, .callerGaveUp, at: time)
    left(ticket)
  }

  func neverSend(_ ticket: OverloadMachine.Ticket) {
    machine.neverSent(ticket, at: time)
    left(ticket)
  }

  func verdicts() -> [OverloadMachine.Verdict] {
    var verdicts: [OverloadMachine.Verdict] = []
    while let verdict = machine.verdict(hasFreeSlot: freeSlots > 0, at: time) {
      waiting.removeAll { $0 == verdict.ticket }
      if verdict.refusal == nil { admit(verdict.ticket) }
      verdicts.append(verdict)
    }
    return verdicts
  }

  private func admit(_ ticket: OverloadMachine.Ticket) {
    freeSlots -= 1
    onWire.append(ticket)
  }

  private func left(_ ticket: OverloadMachine.Ticket) {
    if let index = onWire.firstIndex(of: ticket) {
      onWire.remove(at: index)
      freeSlots += 1
    } else {
      waiting.removeAll { $0 == ticket }
    }
  }

  /// A second in which 40 requests take `seconds` each.
  func second(taking seconds: Double) {
    for _ in 0..<40 {
      guard let ticket = send() else { continue }
      now += seconds
      answer(ticket)
      now += max(0, 0.025 - seconds)
    }
  }

  /// Answers take 2 s, and half of the callers leave without one, until the machine begins to control.
  func overload() {
    while machine.limit == nil, now < 60 {
      let tickets = (0..<60).compactMap { _ in send() }
      now += 2
      for ticket in tickets.prefix(30) { answer(ticket) }
      for ticket in tickets.dropFirst(30) { giveUp(ticket) }
      now += 0.5
      machine.woke(at: time)
    }
  }
  /// A second in which more arrives than is answered.
  func overloadedSecond() {
    for _ in 0..<20 {
      for _ in 0..<4 { _ = arrive() }
      now += 0.05
      machine.woke(at: time)
      for ticket in onWire.prefix(2) { answer(ticket) }
      _ = verdicts()
    }
  }

  func giveUpAll() { for ticket in waiting + onWire { giveUp(ticket) } }
}

extension OverloadMachine {
  /// Bytes that the machine holds, those of its arrays' storage included.
  var bytes: Int { MemoryLayout<OverloadMachine>.size + storedBytes(in: self) }
}
