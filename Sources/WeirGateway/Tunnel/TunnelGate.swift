import Synchronization

/// Limits the tunnels of a route, which all workers share.
final class TunnelGate: Sendable {
  private let state: Mutex<(limit: Int, count: Int)>

  init(limit: Int) {
    state = Mutex((limit, 0))
  }

  /// Takes a place. Returns false if all are taken.
  func enter() -> Bool {
    state.withLock { state in
      guard state.count < state.limit else { return false }
      state.count += 1
      return true
    }
  }

  func leave() { state.withLock { $0.count -= 1 } }

  var isEmpty: Bool { state.withLock { $0.count == 0 } }

  /// Takes another limit. Tunnels beyond it stay.
  func resize(_ limit: Int) { state.withLock { $0.limit = limit } }
}

/// The gates of the present configuration's routes, by name. A reload keeps those of routes that it names again, whose
/// tunnels outlive it. The gate of a route that has left stays until a reload finds it empty, since the route may be
/// back before that.
final class TunnelGates: Sendable {
  private let gates = Mutex<[String: TunnelGate]>([:])

  func follow(_ routes: [Route]) -> [String: TunnelGate] {
    gates.withLock { gates in
      var present: [String: TunnelGate] = [:]
      for route in routes {
        guard let limit = route.upgrade?.limit else { continue }
        let gate = gates[route.name] ?? TunnelGate(limit: limit)
        gate.resize(limit)
        present[route.name] = gate
      }
      gates = gates.filter { !$0.value.isEmpty }.merging(present) { $1 }
      return present
    }
  }
}

/// A route's rule about tunnels, with the gate that counts them.
struct TunnelTerms: Sendable {
  let rule: TunnelRule
  let gate: TunnelGate
}
