import Synchronization
import WeirTransport

/// Limits the slots of one upstream that are held by requests whose bodies are still coming. The other slots are left
/// to requests that are complete. A value.
struct UploadLimit {
  private(set) var limit: Int
  private(set) var count = 0

  init(_ limit: Int) {
    self.limit = max(1, limit)
  }

  /// Whether so many slots are held that slow bodies hinder other requests.
  var isCrowded: Bool { count > limit / 2 }

  /// Takes a slot. Returns false if the limit is reached.
  mutating func enter() -> Bool {
    guard count < limit else { return false }
    count += 1
    return true
  }

  mutating func leave() {
    count -= 1
  }

  /// Takes another limit. Requests that have more slots than that keep them.
  mutating func resize(_ limit: Int) { self.limit = max(1, limit) }
}

/// An upstream's limit, which all workers share.
final class UploadGate: Sendable {
  private let state: Mutex<UploadLimit>

  init(limit: Int) {
    state = Mutex(UploadLimit(limit))
  }

  var isCrowded: Bool { state.withLock { $0.isCrowded } }

  var isEmpty: Bool { state.withLock { $0.count == 0 } }

  func enter() -> Bool { state.withLock { $0.enter() } }

  func leave() { state.withLock { $0.leave() } }

  /// Takes another limit, which is asked for under the lock: of threads that resize at once, the last one takes the
  /// latest. Nil if nothing changes.
  func resize(_ limit: () -> Int?) {
    state.withLock { state in
      if let present = limit() { state.resize(present) }
    }
  }
}

/// The gates of the upstreams that the present configuration names by URL. A reload keeps the gates of upstreams that it
/// names again, since requests of the previous configuration may still hold slots. The gate of an upstream that has left
/// stays until a reload finds it empty, since the upstream may be back before that.
final class UploadGates: Sendable {
  private let limit: Int
  private let gates = Mutex<[Destination: UploadGate]>([:])

  init(limit: Int) {
    self.limit = limit
  }

  func follow(_ destinations: Set<Destination>) -> [Destination: UploadGate] {
    gates.withLock { gates in
      var present: [Destination: UploadGate] = [:]
      for destination in destinations { present[destination] = gates[destination] ?? UploadGate(limit: limit) }
      gates = gates.filter { !$0.value.isEmpty }.merging(present) { $1 }
      return present
    }
  }
}
