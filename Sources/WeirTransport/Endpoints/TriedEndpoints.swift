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
