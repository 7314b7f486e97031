/// When an endpoint that fails is ejected, and for how long.
public struct OutlierSettings: Sendable, Equatable {
  /// Failures in a row; 1 to 1000.
  public var consecutiveFailures: Int
  /// Failed attempts ÷ all in the window; 0.01 to 1.
  public var failureRatio: Double
  /// Attempts in the window before the ratio counts; 1 to 1000000.
  public var minimumRequests: Int
  /// Seconds; 1 to 60.
  public var window: Double
  /// Seconds; 1 to 3600. The n-th ejection in a row lasts n times as long, ±10 %.
  public var ejectFor: Double
  /// The longest ejection before the 10 % are added; after as many seconds without one, earlier ones are forgotten. 1 to
  /// 3600 seconds.
  public var longest: Double
  /// The share of a priority's endpoints that may be ejected, rounded down; 0 to 1.
  public var maximumShare: Double

  /// Takes the numbers. Numbers out of range count as the nearest valid ones, and NaN as the least.
  public init(
    consecutiveFailures: Int = 5, failureRatio: Double = 0.5, minimumRequests: Int = 20, window: Double = 10,
    ejectFor: Double = 10, longest: Double = 300, maximumShare: Double = 0.5
  ) {
    self.consecutiveFailures = consecutiveFailures
    self.failureRatio = failureRatio
    self.minimumRequests = minimumRequests
    self.window = window
    self.ejectFor = ejectFor
    self.longest = longest
    self.maximumShare = maximumShare
  }
}
