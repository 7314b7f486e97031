internal import Synchronization
internal import WeirIO

/// The open connections of each client's address, over all servers of a listener.
final class ClientCounts: Sendable {
  private let counts = Mutex<[IPAddress: Int]>([:])

  /// Counts one more connection. Returns false, and counts nothing, if the client has as many as it may have.
  func opens(_ client: IPAddress, limit: Int) -> Bool {
    counts.withLock { counts in
      let count = counts[client, default: 0]
      guard count < limit else { return false }
      counts[client] = count + 1
      return true
    }
  }

  func closes(_ client: IPAddress) {
    counts.withLock { counts in
      let count = (counts[client] ?? 1) - 1
      counts[client] = count > 0 ? count : nil
    }
  }
}
