import Synchronization
import WeirIO
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// Brings a destination into a condition by attempts of the past. Load control is told of them as if they had come a
/// while ago, so that no test has to wait for them.
extension DestinationState {
  private static func caller(_ settings: OverloadSettings) -> OverloadGate.Caller {
    OverloadGate.Caller(settings: settings, priority: 3, timeout: nil)
  }

  private func send(_ settings: OverloadSettings, at time: MonotonicTime) -> OverloadMachine.Ticket? {
    guard case .granted(let ticket) = ask(nil, Self.caller(settings), at: time, { { _ in } }).decision else {
      return nil
    }
    return ticket
  }

  private func answer(_ ticket: OverloadMachine.Ticket, at time: MonotonicTime) {
    control(at: time) { $0.answered(ticket, status: 200, at: time) }
    release()
  }

  /// Seven seconds in which 40 answers a second took 10 ms each, from `begin` on.
  private func learn(_ settings: OverloadSettings, from begin: MonotonicTime) {
    for number in 0..<280 {
      let time = begin.advanced(bySeconds: 0.025 * Double(number))
      if let ticket = send(settings, at: time) { answer(ticket, at: time.advanced(bySeconds: 0.01)) }
    }
  }

  /// Answers took up to 2 s lately, and many ran into a limit of time: the destination is overloaded from now on, and
  /// its limit is 2. Observers have not been told.
  func becomeOverloaded(_ settings: OverloadSettings = .default) {
    let begin = MonotonicTime(nanoseconds: MonotonicTime.now.nanoseconds - 11_600_000_000)
    learn(settings, from: begin)
    func send(_ count: Int, at seconds: Double) -> [OverloadMachine.Ticket] {
      (0..<count).compactMap { _ in self.send(settings, at: begin.advanced(bySeconds: seconds)) }
    }
    for ticket in send(30, at: 7) { answer(ticket, at: begin.advanced(bySeconds: 8)) }
    let (second, last) = (send(30, at: 8), send(30, at: 9))
    for ticket in second { answer(ticket, at: begin.advanced(bySeconds: 9.5)) }
    let end = begin.advanced(bySeconds: 10.999)
    for ticket in last.prefix(25) {
      control(at: end) { $0.ended(ticket, .timedOut, at: end) }
      release()
    }
    for ticket in last.dropFirst(25) { answer(ticket, at: end) }
    // By now the work has ended that those left.
    fields.withLock { $0.gate?.machine.woke(at: .now) }
  }

  /// No answer has come for 4 s, and the callers have left: the destination is silent from now on. Observers have not
  /// been told.
  func becomeSilent(_ settings: OverloadSettings = .default) {
    let begin = MonotonicTime(nanoseconds: MonotonicTime.now.nanoseconds - 11_000_000_000)
    learn(settings, from: begin)
    let tickets = (0..<20).compactMap { send(settings, at: begin.advanced(bySeconds: 7 + 0.1 * Double($0))) }
    fields.withLock { fields in
      for ticket in tickets { fields.gate?.machine.ended(ticket, .callerGaveUp, at: begin.advanced(bySeconds: 10.9)) }
      fields.gate?.machine.woke(at: .now)
    }
    for _ in tickets { release() }
  }

  /// Takes all places that the limit allows, like attempts that have no answer yet.
  func fill() -> [OverloadMachine.Ticket] {
    var tickets: [OverloadMachine.Ticket] = []
    while fields.withLock({ $0.gate?.machine.hasPlace ?? false }), fields.withLock({ $0.admission.take() }) {
      joinsOverload(at: .now).map { tickets.append($0) }
    }
    return tickets
  }

  func empty(_ tickets: [OverloadMachine.Ticket]) {
    for ticket in tickets {
      let now = MonotonicTime.now
      control(at: now) { $0.neverSent(ticket, at: now) }
      release()
    }
  }

  var overload: OverloadState? { fields.withLock { $0.gate?.machine.state } }

  /// The attempts that count against the limit.
  var used: Int { fields.withLock { $0.gate?.machine.inFlight.counted ?? 0 } }

  /// The attempts that wait for load control.
  var waitingRoom: Int { fields.withLock { $0.gate?.machine.inFlight.waiting ?? 0 } }

  /// The attempts on the wire that load control knows of.
  var onWire: Int { fields.withLock { $0.gate?.machine.inFlight.onWire ?? 0 } }
}

extension SessionConfiguration {
  static func controlled(
    _ settings: OverloadSettings = .default, slots: Int = 64, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> SessionConfiguration {
    .limited(to: slots) {
      $0.overload = settings
      change(&$0)
    }
  }
}

extension WeirError {
  /// Why load control refused the request, if it did.
  var shedReason: ShedReason? {
    if case .requestRejected(reason: .overloaded(let reason, 1)) = self { reason } else { nil }
  }
}

/// Records what monitors are told of load control.
final class OverloadRecorder: InlineEventMonitor {
  let shed = Journal<ShedReason>()
  let abandoned = Journal<AbandonedPhase>()
  let states = Journal<OverloadState>()
  let reports = Journal<OverloadReport>()
  let hedges = Journal<HedgeEvent>()
  let denials = Journal<RetryDenial.Reason>()
  let settled = Journal<RequestOutcome>()

  func request(_ request: Request, wasShed reason: ShedReason) { shed.append(reason) }
  func request(_ request: Request, abandonedIn phase: AbandonedPhase) { abandoned.append(phase) }
  func request(_ request: Request, hedge event: HedgeEvent) { hedges.append(event) }
  func request(_ request: Request, didDenyRetry denial: RetryDenial) { denials.append(denial.reason) }
  func requestDidSettle(_ request: Request, outcome: RequestOutcome) { settled.append(outcome) }
  func session(_ session: Session, overload destination: Destination, entered state: OverloadState) {
    states.append(state)
  }
  func session(_ session: Session, overload destination: Destination, report: OverloadReport) {
    reports.append(report)
  }
}
