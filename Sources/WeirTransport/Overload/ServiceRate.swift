import WeirIO

/// μ: the heads per second of a destination whose limit is used.
struct ServiceRate: Sendable {
  /// Seconds after which it is forgotten.
  private static let memory = 10.0

  private var perSecond = 0.0
  private var time: MonotonicTime?

  init() {}

  /// - Parameter perSecond: Nil: it is unknown.
  init(_ perSecond: Double?, at now: MonotonicTime) {
    guard let perSecond else { return }
    (self.perSecond, time) = (perSecond, now)
  }

  /// Nil while it is unknown.
  func value(at now: MonotonicTime) -> Double? {
    guard let time, now.seconds(since: time) < Self.memory else { return nil }
    return perSecond
  }

  mutating func note(_ measured: Double, at now: MonotonicTime) {
    perSecond = value(at: now).map { 0.7 * $0 + 0.3 * measured } ?? measured
    time = now
  }
}
