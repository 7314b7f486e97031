import Synchronization
import WeirTransport

/// How many requests whose bodies are still coming may have a slot of one upstream. The others are left to those who
/// have all they need. A value.
struct UploadLimit {
  let limit: Int
  private(set) var count = 0

  init(_ limit: Int) {
    self.limit = max(1, limit)
  }

  /// Whether those that are slow are in others' way.
  var isCrowded: Bool { count > limit / 2 }

  /// False: there are as many as may be.
  mutating func enter() -> Bool {
    guard count < limit else { return false }
    count += 1
    return true
  }

  mutating func leave() {
    count -= 1
  }
}

/// An upstream's limit, which all workers share.
final class UploadGate: Sendable {
  private let state: Mutex<UploadLimit>

  init(limit: Int) {
    state = Mutex(UploadLimit(limit))
  }

  var isCrowded: Bool { state.withLock { $0.isCrowded } }

  func enter() -> Bool { state.withLock { $0.enter() } }

  func leave() { state.withLock { $0.leave() } }
}

/// The gates of the upstreams that the present configuration names. A reload keeps those it names again, as requests of
/// the one before may still be inside.
final class UploadGates: Sendable {
  private let limit: Int
  private let gates = Mutex<[Destination: UploadGate]>([:])

  init(limit: Int) {
    self.limit = limit
  }

  func follow(_ destinations: Set<Destination>) -> [Destination: UploadGate] {
    gates.withLock { gates in
      var next: [Destination: UploadGate] = [:]
      for destination in destinations { next[destination] = gates[destination] ?? UploadGate(limit: limit) }
      gates = next
      return next
    }
  }
}
