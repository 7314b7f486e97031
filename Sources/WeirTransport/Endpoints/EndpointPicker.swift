package import WeirIO

/// One worker's view of an ``EndpointSet``: it picks without a lock, as long as the set's endpoints stay.
package struct EndpointPicker: Sendable {
  package let set: EndpointSet
  private var balancer = Balancer.empty
  private var generation = 0
  private var turn: Balancer.Turn

  /// - Parameter seed: Of the worker's random numbers.
  package init(_ set: EndpointSet, seed: UInt64 = .random(in: .min ... .max)) {
    self.set = set
    turn = Balancer.Turn(seed: seed)
  }

  /// Picks an endpoint for an attempt. The attempt tells it of its begin and end (``Endpoint/begins()``,
  /// ``Endpoint/leaves()``), and the set of how it went (``EndpointSet/ended(_:of:began:at:)``).
  ///
  /// - Parameters:
  ///   - key: ``EndpointKey/hash(_:)`` of what a consistent hash goes by; nil for a request without it.
  ///   - tried: The endpoints that the request has tried. One of them is picked only if no priority has another.
  ///   - isHedge: Whether the attempt is one beside others, which stays in their priority.
  ///   - now: Also the earliest time at which the attempt begins.
  /// - Returns: Nil without endpoints.
  package mutating func pick(
    key: UInt64? = nil, excluding tried: TriedEndpoints = TriedEndpoints(), isHedge: Bool = false,
    at now: MonotonicTime
  ) -> Endpoint? {
    let present = set.generation
    if present != generation {
      balancer = set.balancer
      generation = present
    }
    return balancer.pick(key: key, excluding: tried, isHedge: isHedge, &turn, at: now)
  }
}

/// The last eight endpoints that a request has tried, all of one set. A retry goes elsewhere while it can.
package struct TriedEndpoints: Sendable {
  private var numbers = SIMD8<UInt32>()
  private var next = 0

  package init() {}

  package mutating func insert(_ endpoint: Endpoint) {
    numbers[next & 7] = endpoint.number
    next = (next &+ 1) & 7
  }

  package func contains(_ endpoint: Endpoint) -> Bool {
    any(numbers .== SIMD8(repeating: endpoint.number))
  }

  package var isEmpty: Bool { numbers[0] == 0 }
}
