/// How the load on a destination is limited once it answers more slowly than its callers wait.
///
/// As long as callers do not give up and the destination answers at all, every request is let through. When they do, and the answers have become slow for that
/// destination, a limit on the attempts under way follows from how long answers take. Requests beyond it wait for a bounded
/// time or are rejected at once.
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
  var boundedInitial: Int { min(max(initial, Self.limits.lowerBound), Self.limits.upperBound) }
  var boundedMinimum: Int { min(max(minimum, Self.limits.lowerBound), boundedInitial) }
  var boundedTolerance: Double { tolerance.clamped(to: Self.tolerances) }
  var boundedSilence: Double { silence?.clamped(to: Self.silences) ?? .infinity }
}

extension Double {
  fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
    self > range.lowerBound ? min(self, range.upperBound) : range.lowerBound
  }
}
