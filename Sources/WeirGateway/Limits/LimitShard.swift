import Synchronization

/// A part of the keys of a limit, with a lock of its own.
final class LimitShard<State>: Sendable {
  /// The number of parts of a limit with many keys.
  static var count: Int { 16 }

  let state: Mutex<State>

  init(_ state: sending State) {
    self.state = Mutex(state)
  }
}

extension Array {
  /// The shard of a key.
  func shard<State>(of fingerprint: UInt64) -> LimitShard<State> where Element == LimitShard<State> {
    // The tables within a shard go by the other end of the fingerprint.
    self[count == 1 ? 0 : Int(fingerprint >> 60)]
  }
}
