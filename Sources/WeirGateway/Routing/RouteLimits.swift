import WeirTransport

/// The limits on a route's requests: how many may come, and how many may be under way.
package struct RouteLimits: Sendable, Equatable {
  static let mostRates = 4
  static let mostConcurrency = 2

  /// Asked in this order, before `concurrency`.
  package var rates: [RateLimit] = []
  package var concurrency: [ConcurrencyLimit] = []

  var isEmpty: Bool { rates.isEmpty && concurrency.isEmpty }

  /// The limits as metrics name them, in the order in which they are asked.
  var labels: [(limit: String, enforced: String)] {
    rates.map { ($0.name, "\($0.enforces)") } + concurrency.map { ($0.label, "\($0.enforces)") }
  }
}

/// The part of a request by which it is counted: requests with equal parts share one limit.
package enum LimitKey: Sendable, Hashable {
  /// All requests of the route.
  case route
  /// The client's address. Of an IPv6 address only the first bits count.
  case client(prefix6: Int)
  /// The name under which the client has authenticated itself.
  case user
  /// The first field of this name, which is in lower case.
  case header(String)

  static let prefixes6 = 32...128
  /// A home or a company usually has an IPv6 network of its own of this length.
  package static let standardPrefix6 = 64
  package static let standard = LimitKey.client(prefix6: standardPrefix6)
}

/// A rate at which requests may come, with a burst: a token bucket.
package struct RateLimit: Sendable, Equatable {
  static let mostPerSecond = TokenBucket.Terms.mostPerSecond
  static let bursts = TokenBucket.Terms.bursts

  /// The name, unique within the route; a label of metrics.
  package var name: String
  package var rate: RequestRate
  /// The number of requests that may come at once.
  package var burst: Int
  package var key: LimitKey
  /// If false, requests beyond the limit are only counted.
  package var enforces: Bool

  /// - Parameter burst: nil for what the rate allows in one second, at least 1.
  package init(
    _ name: String, _ rate: RequestRate, burst: Int? = nil, key: LimitKey = .standard, enforces: Bool = true
  ) {
    self.name = name
    self.rate = rate
    self.burst = burst ?? rate.perSecond
    self.key = key
    self.enforces = enforces
  }
}

/// A number of requests in a period.
package struct RequestRate: Sendable, Equatable {
  package var count: Int
  /// Seconds.
  package var period: Int

  package init(_ count: Int, per period: Int = 1) {
    self.count = count
    self.period = period
  }

  /// The requests of one second, rounded up.
  var perSecond: Int { (count + period - 1) / period }
}

/// The number of requests that may be under way at one time.
package struct ConcurrencyLimit: Sendable, Equatable {
  static let limits = 1...100_000

  package var limit: Int
  package var key: LimitKey
  /// If false, requests beyond the limit are only counted.
  package var enforces: Bool

  package init(_ limit: Int, key: LimitKey = .standard, enforces: Bool = true) {
    self.limit = limit
    self.key = key
    self.enforces = enforces
  }

  /// The limit in metrics. No rate limit's name has a colon.
  var label: String {
    switch key {
    case .route: "concurrency:route"
    case .client: "concurrency:client"
    case .user: "concurrency:user"
    case .header(let name): "concurrency:header \(name)"
    }
  }
}
