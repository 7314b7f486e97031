import WeirIO

/// The pace of one destination, with the waiters of the attempts that it lets wait. A value under a lock of the destination.
struct PaceGate: Sendable {
  typealias Ticket = PaceMachine.Ticket
  /// Tells a waiter that it has its turn, or why it gets none: by posting a job to its loop, never at once.
  typealias Waiter = @Sendable (PaceMachine.Refusal?) -> Void

  /// A decision about an attempt that has waited. It is told once the lock is free.
  struct Answer: Sendable {
    let waiter: Waiter
    /// Nil: it has its turn.
    let refusal: PaceMachine.Refusal?
  }

  /// The capacity for waiters that is kept while there are none.
  private static let idleCapacity = 16

  var machine: PaceMachine
  /// The order of the controls whose settings the machine follows.
  private var order: UInt64 = 0
  private var waiters: [Ticket: Waiter] = [:]
  /// The pauses and refusals that reports have told.
  private var reported = (pauses: 0, refusals: 0)
  /// Whether the last report has told of a pause that is not over.
  private var isToldPaused = false

  init(_ settings: PaceSettings, at now: MonotonicTime) {
    machine = PaceMachine(settings, at: now)
  }

  /// Takes settings, unless later ones are known: attempts of an earlier configuration may come after a reload.
  mutating func follow(_ settings: PaceSettings, order: UInt64, at now: MonotonicTime) {
    if order < self.order { return }
    self.order = order
    machine.follow(settings, at: now)
  }

  mutating func arrived(
    priority: Int, timeout: Double?, isRetry: Bool, at now: MonotonicTime, _ waiter: () -> Waiter
  ) -> PaceMachine.Arrival {
    let arrival = machine.arrived(priority: priority, timeout: timeout, isRetry: isRetry, at: now)
    if case .waits(let ticket) = arrival { waiters[ticket] = waiter() }
    return arrival
  }

  /// The decisions that are due about waiting attempts.
  mutating func answers(at now: MonotonicTime) -> [Answer] {
    if waiters.isEmpty { return [] }
    var answers: [Answer] = []
    while let verdict = machine.verdict(at: now) {
      guard let waiter = takeWaiter(verdict.ticket) else { continue }
      answers.append(Answer(waiter: waiter, refusal: verdict.refusal))
    }
    return answers
  }

  /// An attempt that waits, or has a turn with which nothing was sent, leaves. Returns its waiter if it still waits.
  mutating func leave(_ ticket: Ticket, at now: MonotonicTime) -> Waiter? {
    machine.neverSent(ticket, at: now)
    return takeWaiter(ticket)
  }

  private mutating func takeWaiter(_ ticket: Ticket) -> Waiter? {
    defer { if waiters.isEmpty, waiters.capacity > Self.idleCapacity { waiters = [:] } }
    return waiters.removeValue(forKey: ticket)
  }

  /// The changes since the last report; nil if there are none, and no pause is obeyed.
  mutating func takeReport(at now: MonotonicTime) -> PauseReport? {
    let left = machine.pauseLeft(at: now) ?? 0
    let begun = machine.pauses - reported.pauses
    let refused = machine.refusals - reported.refusals
    guard left > 0 || begun > 0 || refused > 0 || isToldPaused else { return nil }
    reported = (machine.pauses, machine.refusals)
    isToldPaused = left > 0
    return PauseReport(left: left, begun: begun, refused: refused)
  }
}

/// The pauses and refusals of a destination's pace, as they are reported.
public struct PauseReport: Sendable, Hashable {
  /// Seconds until the end of the present pause; 0 if it is over.
  public let left: Double
  /// The pauses that have begun since the last report.
  public let begun: Int
  /// The requests that were refused since the last report.
  public let refused: Int

  /// Takes the values, for tests of monitors.
  public init(left: Double, begun: Int, refused: Int = 0) {
    self.left = left
    self.begun = begun
    self.refused = refused
  }
}
