/// The load control of a destination at one time, and the events since the report before. Reports come once a second from
/// the first request on, until none has come for ten minutes.
public struct OverloadReport: Sendable, Hashable {
  /// Probes with a lower limit that have ended, by what they have shown.
  public struct Probes: Sendable, Hashable {
    /// The lower limit made the answers faster.
    public var faster = 0
    /// It made no difference.
    public var same = 0
    /// They were given up, as requests waited too long.
    public var aborted = 0
  }

  /// The state at the time of the report.
  public var state: OverloadState
  /// The attempts that may count at once; the number of slots while nothing is limited.
  public var limit: Int
  /// The attempts that count: on the wire without a head, or abandoned while the destination still works on them.
  public var used: Int
  /// Seconds that an answer takes without a queue at the destination, as measured; nil while unknown.
  public var baseline: Double?
  /// Answers per second that the destination can give; nil while unknown.
  public var serviceRate: Double?
  /// Requests that asked for the destination.
  public var offered = 0
  /// Attempts that were answered, or failed without an answer.
  public var served = 0
  /// Requests that were refused, by reason.
  public var shed: [ShedReason: Int] = [:]
  /// Seconds of the destination's silence: of the present one, or of one that an answer or a failure has ended; nil
  /// without one. They begin with the first request that was sent after the last answer or failure.
  public var silence: Double?
  /// The probes that have ended.
  public var probes = Probes()

  /// Takes the present values. The counts of events are zero.
  public init(state: OverloadState, limit: Int, used: Int, baseline: Double? = nil, serviceRate: Double? = nil) {
    self.state = state
    self.limit = limit
    self.used = used
    self.baseline = baseline
    self.serviceRate = serviceRate
  }
}

/// The state of a destination's load control (``OverloadSettings``).
public enum OverloadState: String, Sendable, Hashable, CaseIterable {
  /// The destination answers before its callers leave, or a limit sees to it that it does.
  case normal
  /// The destination gets more requests than it can answer in time; those beyond its limit are refused.
  case overloaded
  /// The destination has ceased to answer; few requests are let through, to see whether it answers again.
  case silent
}
