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

/// A fast generator of random numbers (SplitMix64; Steele, Lea and Flood, 2014). Anybody may guess its next number: that
/// gains a client nothing here.
package struct PickRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// From 0 up to 1.
  mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
