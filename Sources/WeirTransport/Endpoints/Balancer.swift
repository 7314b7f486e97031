import Synchronization
import WeirIO

/// Chooses an endpoint for each attempt. A value that never changes: its tables are made once for a set's endpoints, and
/// every worker has a copy. Attempts in flight, latencies and availability are the endpoints' own.
///
/// The endpoints of the lowest priority number are used while any of them is available, then those of the next. A
/// request that has failed at them goes on to the next, too, before it tries one of them again. If none is available in
/// any, health is ignored: a request that might succeed is better than one that is refused.
struct Balancer: Sendable {
  /// The state of one worker's choices.
  struct Turn: Sendable {
    /// The place in the round robin.
    var cursor: UInt32
    var random: PickRandom

    init(seed: UInt64) {
      random = PickRandom(seed: seed)
      cursor = UInt32(truncatingIfNeeded: random.next())
    }
  }

  /// The lowest priority number first.
  let tiers: [EndpointTier]

  static let empty = Balancer([], EndpointSettings(), EndpointTotals())

  /// - Parameter members: Sorted by name.
  init(_ members: [EndpointTier.Member], _ settings: EndpointSettings, _ totals: EndpointTotals) {
    tiers = Set(members.map(\.priority)).sorted().map { priority in
      EndpointTier(priority: priority, members.filter { $0.priority == priority }, settings, totals)
    }
  }

  /// Chooses an endpoint.
  ///
  /// - Parameters:
  ///   - key: For a consistent hash; nil for a request without one.
  ///   - tried: Endpoints to avoid while others are available, of whatever priority.
  ///   - isHedge: Whether the attempt is one beside others. As none of them has failed, it stays in their priority.
  /// - Returns: Nil without endpoints. If each that is available has as many attempts as it may have, one of them gets one
  ///   more: the destination's slots have let the attempt through.
  func pick(
    key: UInt64?, excluding tried: TriedEndpoints, isHedge: Bool, _ turn: inout Turn, at now: MonotonicTime
  ) -> Endpoint? {
    var demand = EndpointTier.Demand(key: key, tried: tried, staysInPriority: isHedge, now: now)
    if let endpoint = pick(demand, &turn) { return endpoint }
    demand.ignoresLimit = true
    demand.ignoresHealth = !tiers.contains { $0.hasAvailable }
    return pick(demand, &turn)
  }

  private func pick(_ wanted: EndpointTier.Demand, _ turn: inout Turn) -> Endpoint? {
    if let endpoint = pickFromTiers(wanted, &turn) { return endpoint }
    if wanted.tried.isEmpty { return nil }
    var demand = wanted
    demand.tried = TriedEndpoints()
    return pickFromTiers(demand, &turn)
  }

  private func pickFromTiers(_ wanted: EndpointTier.Demand, _ turn: inout Turn) -> Endpoint? {
    for tier in tiers {
      var demand = wanted
      if tier.isInPanic { demand.ignoresHealth = true }
      if let endpoint = tier.pick(demand, &turn) { return endpoint }
      guard wanted.staysInPriority, !wanted.tried.isEmpty else { continue }
      demand.tried = TriedEndpoints()
      if let endpoint = tier.pick(demand, &turn) { return endpoint }
    }
    return nil
  }
}

/// The endpoints of one priority, with the tables of the policy in use. How many are available is published here, since
/// counting them would take too long for each pick.
final class EndpointTier: Sendable {
  struct Member: Sendable {
    let endpoint: Endpoint
    let weight: Int
    let priority: Int
  }

  /// A request's wishes.
  struct Demand {
    let key: UInt64?
    var tried: TriedEndpoints
    /// Whether one of the same priority that was tried is better than one of the next.
    var staysInPriority = false
    var ignoresHealth = false
    /// Whether an endpoint may have more attempts than it should.
    var ignoresLimit = false
    let now: MonotonicTime
  }

  private struct Candidate {
    let place: Int
    /// The weight that counts now.
    let weight: Double

    /// Whether one has more attempts in flight than its share of what both have. Between different weights the share is
    /// rounded up: of two with 95 and 5 the small one would otherwise get a request whenever it has nothing to do.
    func exceedsShare(_ active: Int, beside otherActive: Int, of other: Candidate) -> Bool {
      if weight == other.weight { return active > otherActive }
      return Double(active) > (Double(active + otherActive) * weight / (weight + other.weight)).rounded(.up)
    }
  }

  /// Draws before all endpoints are looked at.
  private static let mostDraws = 16
  /// The part of its weight with which an endpoint begins.
  private static let firstPart = 0.1
  /// How often a key that finds no usable endpoint looks on.
  private static let mostSteps: UInt64 = 8

  let priority: Int
  private let endpoints: [Endpoint]
  /// The same endpoints, which are read here without counting references: that would take most of a pick's time.
  private let references: [Unmanaged<Endpoint>]
  private let weights: [Double]
  private let totalWeight: Double
  private let draw: WeightedDraw
  private let sequence: [UInt32]
  private let table: MaglevTable
  private let factor: Double
  private let slowStart: Double
  private let panicThreshold: Double
  private let connections: Int
  private let totals: EndpointTotals
  private let available = Atomic<Int>(0)
  private let availableWeight = Atomic<Int>(0)

  /// - Parameter members: Sorted by name.
  init(priority: Int, _ members: [Member], _ settings: EndpointSettings, _ totals: EndpointTotals) {
    self.priority = priority
    self.totals = totals
    endpoints = members.map(\.endpoint)
    references = endpoints.map { .passUnretained($0) }
    let weights = members.map(\.weight)
    self.weights = weights.map(Double.init)
    totalWeight = Double(weights.reduce(0, +))
    draw = WeightedDraw(weights)
    sequence = settings.balance == .roundRobin ? SmoothSequence.make(weights) : []
    let factor = settings.balance.boundedFactor
    table = factor == nil ? .empty : MaglevTable(names: members.map(\.endpoint.name), weights: weights)
    self.factor = factor ?? .infinity
    slowStart = settings.boundedSlowStart
    panicThreshold = settings.boundedPanicThreshold
    connections = settings.boundedConnections
  }

  /// Sets how many endpoints are available, and the sum of their weights.
  func publish(available count: Int, weight: Int) {
    available.store(count, ordering: .relaxed)
    availableWeight.store(weight, ordering: .relaxed)
  }

  var hasAvailable: Bool { available.load(ordering: .relaxed) > 0 }

  /// Whether so few are available that all are to be used. If none is, the next priority is better.
  var isInPanic: Bool {
    guard panicThreshold > 0 else { return false }
    let count = available.load(ordering: .relaxed)
    return count > 0 && Double(count) < panicThreshold * Double(endpoints.count)
  }

  /// Chooses an endpoint by the policy; nil if none may be picked.
  func pick(_ demand: Demand, _ turn: inout Balancer.Turn) -> Endpoint? {
    guard let place = hashed(demand) ?? next(demand, &turn) ?? leastLoaded(demand, &turn) else { return nil }
    return endpoints[place]
  }

  // MARK: Policies

  private func leastLoaded(_ demand: Demand, _ turn: inout Balancer.Turn) -> Int? {
    guard let first = drawn(demand, besides: nil, &turn) else { return nil }
    guard endpoints.count > 1, let second = drawn(demand, besides: first.place, &turn) else {
      return claims(first.place, demand) ? first.place : nil
    }
    let (better, other) = isBetter(second, than: first, at: demand.now) ? (second, first) : (first, second)
    if claims(better.place, demand) { return better.place }
    return claims(other.place, demand) ? other.place : nil
  }

  /// Whether the second drawn is to be preferred. An endpoint that has just failed has few attempts in flight because it
  /// fails fast, so that this counts for nothing beside one that works.
  private func isBetter(_ second: Candidate, than first: Candidate, at now: MonotonicTime) -> Bool {
    reading(first.place) { one in
      reading(second.place) { other in
        if other.hasFailed, !one.hasFailed { return false }
        let (active, otherActive) = (one.active, other.active)
        if first.exceedsShare(active, beside: otherActive, of: second) { return true }
        if second.exceedsShare(otherActive, beside: active, of: first), !one.hasFailed || other.hasFailed {
          return false
        }
        guard let latency = one.latency(at: now), let otherLatency = other.latency(at: now) else { return false }
        return latency > 2 * otherLatency
      }
    }
  }

  /// The next in turn. Where it may not be picked, the turn is drawn by weight, so that no neighbour gets twice its share.
  private func next(_ demand: Demand, _ turn: inout Balancer.Turn) -> Int? {
    if sequence.isEmpty { return nil }
    let place = Int(sequence[Int(turn.cursor) % sequence.count])
    let part = part(of: place, demand)
    if part >= 1 || (part > 0 && turn.random.unit() < part), claims(place, demand) {
      turn.cursor &+= 1
      return place
    }
    guard let drawn = drawn(demand, besides: nil, &turn), claims(drawn.place, demand) else { return nil }
    turn.cursor &+= 1
    return drawn.place
  }

  /// The key's endpoint, or that of one of the next keys.
  private func hashed(_ demand: Demand) -> Int? {
    guard let key = demand.key, table.size > 0 else { return nil }
    for step in 0...Self.mostSteps {
      guard let place = table.index(of: key &+ step) else { return nil }
      let part = part(of: place, demand)
      // Keys come back to an endpoint one after the other while its weight grows.
      let isDue = part >= 1 || Double(EndpointKey.mixed(~key) >> 11) * 0x1p-53 < part
      if isDue, !isOverloaded(place, demand), claims(place, demand) { return place }
    }
    return nil
  }

  /// Whether another attempt would exceed the factor × its part of all attempts in flight, rounded up (Mirrokni, Thorup
  /// and Zadimoghaddam, Consistent Hashing with Bounded Loads, 2018).
  private func isOverloaded(_ place: Int, _ demand: Demand) -> Bool {
    guard factor.isFinite else { return false }
    let published = Double(availableWeight.load(ordering: .relaxed))
    let weight = demand.ignoresHealth || published == 0 ? totalWeight : published
    let all = Double(totals.active + 1)
    return Double(reading(place, \.active) + 1) > (factor * all * weights[place] / weight).rounded(.up)
  }

  // MARK: Draws

  /// Draws an endpoint by the weights that count now.
  private func drawn(_ demand: Demand, besides taken: Int?, _ turn: inout Balancer.Turn) -> Candidate? {
    var starting: Candidate?
    for _ in 0..<Self.mostDraws {
      let place = draw.place(turn.random.next())
      guard place != taken, place < endpoints.count else { continue }
      let part = part(of: place, demand)
      if part <= 0 { continue }
      let candidate = Candidate(place: place, weight: part * weights[place])
      if part >= 1 || turn.random.unit() < part { return candidate }
      starting = candidate
    }
    return starting ?? (taken == nil ? drawnFromAll(demand, &turn) : nil)
  }

  /// Looks at all endpoints once, and draws from those that may be picked.
  private func drawnFromAll(_ demand: Demand, _ turn: inout Balancer.Turn) -> Candidate? {
    var chosen: Candidate?
    var total = 0.0
    for place in endpoints.indices {
      let weight = part(of: place, demand) * weights[place]
      guard weight > 0 else { continue }
      total += weight
      if turn.random.unit() * total < weight { chosen = Candidate(place: place, weight: weight) }
    }
    return chosen
  }

  /// The part of its weight that counts for this request; 0 if the endpoint may not be picked.
  private func part(of place: Int, _ demand: Demand) -> Double {
    reading(place) { endpoint in
      if endpoint.active >= connections, !demand.ignoresLimit { return 0 }
      if !demand.tried.isEmpty, demand.tried.contains(endpoint) { return 0 }
      if demand.ignoresHealth { return 1 }
      switch endpoint.availability {
      case .available: return 1
      case .slowStart(let since):
        guard slowStart > 0 else { return 1 }
        return min(1, Self.firstPart + (1 - Self.firstPart) * max(0, demand.now.seconds(since: since)) / slowStart)
      case .ejected(let until): return until <= demand.now ? 1 : 0
      case .unhealthy: return 0
      }
    }
  }

  /// Whether a chosen endpoint may be used: one that was ejected takes one request at a time.
  private func claims(_ place: Int, _ demand: Demand) -> Bool {
    demand.ignoresHealth || reading(place) { $0.claimTrial(at: demand.now) }
  }

  private func reading<Value>(_ place: Int, _ read: (Endpoint) -> Value) -> Value {
    references[place]._withUnsafeGuaranteedRef(read)
  }
}
