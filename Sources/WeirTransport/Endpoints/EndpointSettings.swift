/// Rules by which the endpoints of an upstream are balanced, and by which failing ones are left out.
package struct EndpointSettings: Sendable, Equatable {
  package var balance: Balance
  /// Nil: no endpoint is ejected. A set of one endpoint never ejects it.
  package var outlier: OutlierSettings?
  /// Seconds in which the weight of an endpoint rises from 10 to 100 % after an ejection, a bad check, or when it joins
  /// later than the first; 1 to 900. Nil: it has its weight at once.
  package var slowStart: Double?
  /// The share of a priority's endpoints, 0 to 1, below which health is ignored, if any of them is available.
  package var panicThreshold: Double
  /// Retries at other endpoints for a request whose connection could not be opened; 0 to 5.
  package var connectRetries: Int
  /// Attempts in flight at one endpoint, of all workers; 1 to 8192. An endpoint that has as many is not picked.
  package var connections: Int

  /// Takes the numbers. Numbers out of range count as the nearest valid ones, and NaN as the least.
  package init(
    balance: Balance = .leastRequests, outlier: OutlierSettings? = OutlierSettings(), slowStart: Double? = 10,
    panicThreshold: Double = 0, connectRetries: Int = 1, connections: Int = 512
  ) {
    self.balance = balance
    self.outlier = outlier
    self.slowStart = slowStart
    self.panicThreshold = panicThreshold
    self.connectRetries = connectRetries
    self.connections = connections
  }

  /// How an endpoint is chosen for an attempt.
  package enum Balance: Sendable, Equatable {
    /// The first of two drawn by weight, unless it has more than its share of the attempts that both have in flight.
    case leastRequests
    /// In turn by weight, evenly spread, as nginx does. Each worker has a turn of its own.
    case roundRobin
    /// By the request's key, over Maglev's table. An endpoint with more than `factor` × its part of the attempts in flight
    /// passes on; 1.05 to 10, nil for never. A request without a key goes by ``leastRequests``.
    case consistentHash(factor: Double? = 1.25)
  }
}

extension EndpointSettings {
  /// For `slowStart`, in seconds.
  package static let slowStarts = 1.0...900.0
  /// For `panicThreshold`.
  package static let shares = 0.0...1.0
  package static let connectRetriesRange = 0...5
  package static let connectionsRange = 1...8192
  /// For the factor of a consistent hash.
  package static let factors = 1.05...10.0

  /// 0 without a slow start.
  var boundedSlowStart: Double { slowStart?.clamped(to: Self.slowStarts) ?? 0 }
  var boundedPanicThreshold: Double { panicThreshold.clamped(to: Self.shares) }
  package var boundedConnectRetries: Int { connectRetries.clamped(to: Self.connectRetriesRange) }
  package var boundedConnections: Int { connections.clamped(to: Self.connectionsRange) }
}

extension EndpointSettings.Balance {
  /// The factor of a consistent hash, infinite where no endpoint passes on; nil for another balance.
  var boundedFactor: Double? {
    guard case .consistentHash(let factor) = self else { return nil }
    return factor?.clamped(to: EndpointSettings.factors) ?? .infinity
  }
}

extension OutlierSettings {
  package static let consecutiveRange = 1...1000
  package static let ratios = 0.01...1.0
  package static let minimumRequestsRange = 1...1_000_000
  /// For `window`, in seconds.
  package static let windows = 1.0...60.0
  /// For `ejectFor` and `longest`, in seconds.
  package static let ejections = 1.0...3600.0

  var boundedConsecutive: Int { consecutiveFailures.clamped(to: Self.consecutiveRange) }
  var boundedRatio: Double { failureRatio.clamped(to: Self.ratios) }
  var boundedMinimumRequests: Int { minimumRequests.clamped(to: Self.minimumRequestsRange) }
  var boundedWindow: Double { window.clamped(to: Self.windows) }
  var boundedEjectFor: Double { ejectFor.clamped(to: Self.ejections) }
  var boundedLongest: Double { longest.clamped(to: Self.ejections) }
  var boundedMaximumShare: Double { maximumShare.clamped(to: EndpointSettings.shares) }
}

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
