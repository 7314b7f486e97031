import Synchronization
import WeirIO

@testable import WeirTransport

/// A gate with its slots, the time, and the decisions about waiting attempts.
final class GateLine {
  typealias Ticket = OverloadMachine.Ticket

  /// The decisions that the attempts' waiters were called with.
  private final class Heard: Sendable {
    let decisions = Mutex<[String]>([])
  }

  var gate: OverloadGate
  var admission: Admission<DestinationState.Waiter>
  var now = 0.0
  private let settings: OverloadSettings
  private let heard = Heard()

  init(_ settings: OverloadSettings = .default, slots: Int = 512, waiting: Int = 10_000) {
    self.settings = settings
    admission = Admission(slots: slots, maximumWaiting: waiting)
    gate = OverloadGate(settings, slots: slots, at: MachineLine.time(0))
  }

  var time: MonotonicTime { MachineLine.time(now) }

  /// The decisions about attempts that waited, by name, since the last look.
  func decisions() -> [String] {
    for answer in gate.answers(&admission, at: { time }) { answer.waiter(answer.refusal) }
    return heard.decisions.withLock { decisions in
      defer { decisions = [] }
      return decisions
    }
  }

  func arrive(_ name: String = "", priority: Int = 3, timeout: Double? = nil) -> DestinationState.Answer.Decision {
    gate.arrived(OverloadGate.Caller(settings: settings, priority: priority, timeout: timeout), &admission, at: time) {
      { [heard] refusal in
        heard.decisions.withLock { $0.append("\(name) \(refusal?.rawValue ?? "through")") }
      }
    }
  }

  /// What becomes of an arrival, in a word.
  func word(_ name: String = "", priority: Int = 3, timeout: Double? = nil) -> String {
    switch arrive(name, priority: priority, timeout: timeout) {
    case .granted: "through"
    case .waiting: "waits"
    case .refused(let reason): reason.rawValue
    case .queueFull: "full"
    }
  }

  func send() -> Ticket? {
    guard case .granted(let ticket) = arrive() else { return nil }
    return ticket
  }

  /// Sends until the limit is reached.
  func fill() -> [Ticket] {
    var tickets: [Ticket] = []
    while gate.machine.hasPlace, let ticket = send() { tickets.append(ticket) }
    return tickets
  }

  func wait(_ name: String = "") -> Ticket? {
    guard case .waiting(.controlled(let ticket)) = arrive(name) else { return nil }
    return ticket
  }

  func answer(_ ticket: Ticket) {
    gate.machine.answered(ticket, status: 200, at: time)
    _ = admission.release()
  }

  func giveUp(_ ticket: Ticket) {
    gate.machine.ended(ticket, .callerGaveUp, at: time)
    _ = admission.release()
  }

  /// Six seconds in which 40 requests take 10 ms each.
  func learn() {
    for _ in 0..<240 {
      guard let ticket = send() else { continue }
      now += 0.01
      answer(ticket)
      now += 0.015
    }
  }

  /// Answers take 2 s, and half of the callers leave without one, until the machine begins to control.
  func overload() {
    learn()
    while gate.machine.limit == nil, now < 60 {
      let tickets = (0..<60).compactMap { _ in send() }
      now += 2
      for ticket in tickets.prefix(30) { answer(ticket) }
      for ticket in tickets.dropFirst(30) { giveUp(ticket) }
      now += 0.5
      gate.machine.woke(at: time)
    }
  }

  /// No answer comes for three seconds in which requests are sent, and then their callers leave.
  ///
  /// Returns the attempts that the upstream has not answered.
  @discardableResult func fallSilent() -> [Ticket] {
    learn()
    let sent = (0..<60).compactMap { _ in
      now += 0.05
      return send()
    }
    for ticket in sent { giveUp(ticket) }
    now += 0.5
    gate.machine.woke(at: time)
    return sent
  }
}
