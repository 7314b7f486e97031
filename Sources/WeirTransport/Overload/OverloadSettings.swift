/// How the load on a destination is limited once it answers more slowly than its callers wait.
///
/// As long as callers do not give up and the destination answers at all, every request is let through. When they do,
/// and the answers have become slow for that destination, a limit on the attempts under way follows from how long
/// answers take. Requests beyond it wait for a bounded time or are rejected at once.
public struct OverloadSettings: Sendable, Hashable {
  /// Seconds that a request waits at most for the limit; 0.01 to 60.
  public var wait: Double
  /// Seconds that a request waits at most while the destination is overloaded; 0 to `wait`. Half the time of an answer
  /// without a queue counts in its place where that is more.
  public var waitOverloaded: Double
  /// The limit at the beginning, where no rate of answers is known; 1 to 512.
  public var initial: Int
  /// The limit is never lower; 1 to `initial`.
  public var minimum: Int
  /// How many times the baseline answers may take without the limit shrinking; 1.1 to 100.
  public var tolerance: Double
  /// Seconds without any answer after which a destination is taken to be silent, 0.5 to 60; nil: it never is.
  public var silence: Double?
  /// Whether the priority of requests counts (`u` of RFC 9218).
  public var priority: Bool

  /// Takes the numbers. Numbers out of range count as the nearest valid ones, and NaN as the least.
  public init(
    wait: Double = 1.5, waitOverloaded: Double = 0.1, initial: Int = 8, minimum: Int = 2, tolerance: Double = 2,
    silence: Double? = 2, priority: Bool = false
  ) {
    self.wait = wait
    self.waitOverloaded = waitOverloaded
    self.initial = initial
    self.minimum = minimum
    self.tolerance = tolerance
    self.silence = silence
    self.priority = priority
  }

  /// The values that the gateway uses without configuration.
  public static let `default` = OverloadSettings()
}

extension OverloadSettings {
  /// For `wait`, in seconds.
  package static let waits = 0.01...60.0
  /// For `initial` and `minimum`.
  package static let limits = 1...512
  package static let tolerances = 1.1...100.0
  /// For `silence`, in seconds.
  package static let silences = 0.5...60.0

  var boundedWait: Double { wait.clamped(to: Self.waits) }
  var boundedWaitOverloaded: Double { waitOverloaded.clamped(to: 0...boundedWait) }
  var boundedInitial: Int { initial.clamped(to: Self.limits) }
  var boundedMinimum: Int { minimum.clamped(to: Self.limits.lowerBound...boundedInitial) }
  var boundedTolerance: Double { tolerance.clamped(to: Self.tolerances) }
  var boundedSilence: Double { silence?.clamped(to: Self.silences) ?? .infinity }
}

/// The load control of a destination at one time, and the events since the report before. Reports come once a second
/// from the first request on, until none has come for ten minutes.
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
