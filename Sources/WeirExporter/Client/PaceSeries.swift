import Synchronization
import WeirIO
import WeirMetrics
import WeirTransport

/// The series of the pace of one destination. Its counters are made at zero once it is known that there is a pace, so that
/// the first burst shows as an increase; the gauge comes with the first pause.
final class PaceSeries: Sendable {
  private let families: ClientMetrics
  private let address: String
  private let port: String
  /// Destinations that share their series have no one pause to show.
  private let isOne: Bool
  private let waits: LazyHistogram
  private let hasBegun = Atomic(false)

  init(_ families: ClientMetrics, _ address: String, _ port: String, isOne: Bool) {
    self.families = families
    self.address = address
    self.port = port
    self.isOne = isOne
    waits = LazyHistogram { families.paceWait.with(address, port) }
  }

  /// There is a pace.
  func begin() {
    guard !hasBegun.load(ordering: .relaxed), !hasBegun.exchange(true, ordering: .relaxed) else { return }
    for reason in [ShedReason.paused, .pace] { _ = families.shed.with(address, port, reason.rawValue) }
    _ = families.retriesDenied.with(address, port, RetryDenial.Reason.pace.rawValue)
    _ = families.pauses.with(address, port)
    if isOne { families.paces.begin([address, port]) }
  }

  /// An attempt has waited for its turn.
  func waited(_ seconds: Double) {
    begin()
    waits.observe(seconds)
  }

  func refused(_ reason: ShedReason) {
    begin()
    families.shed.with(address, port, reason.rawValue).increment()
  }

  func paused(_ report: PauseReport, at now: MonotonicTime) {
    begin()
    if report.begun > 0 { families.pauses.with(address, port).increment(by: report.begun) }
    let isPause = report.left > 0 || report.begun > 0
    guard isOne, isPause || families.paces.hasPaused([address, port]) else { return }
    families.paused.with(address, port).set(report.left > 0 ? 1 : 0)
    families.paces.pause([address, port], until: now.advanced(bySeconds: report.left))
  }

  /// There is no pace any more. What was counted stays.
  func end() {
    families.paused.remove(address, port)
    families.paces.forget([address, port])
    hasBegun.store(false, ordering: .relaxed)
  }
}

/// The destinations that have a pace, and the ends of the pauses that they asked for: metrics tell only whether there is one.
final class KnownPaces: Sendable {
  /// The ends of the latest pauses, by address and port.
  private let ends = Mutex<[[String]: MonotonicTime]>([:])

  func begin(_ destination: [String]) {
    ends.withLock { ends in
      if ends[destination] == nil { ends[destination] = MonotonicTime(nanoseconds: 0) }
    }
  }

  func pause(_ destination: [String], until end: MonotonicTime) { ends.withLock { $0[destination] = end } }

  /// Whether the destination has asked for a pause.
  func hasPaused(_ destination: [String]) -> Bool {
    ends.withLock { ($0[destination]?.nanoseconds ?? 0) > 0 }
  }

  func forget(_ destination: [String]) { ends.withLock { $0[destination] = nil } }

  /// Whether a destination has a pace, and the seconds until the end of its present pause; nil without one.
  func state(of destination: [String], at now: MonotonicTime) -> (hasPace: Bool, pausedFor: Double?) {
    guard let end = ends.withLock({ $0[destination] }) else { return (false, nil) }
    return (true, end > now ? end.seconds(since: now) : nil)
  }
}
