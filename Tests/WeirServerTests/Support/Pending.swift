import Synchronization
import WeirIO
import WeirServer
import WeirTestSupport

/// Exchanges that a test answers when it sees fit.
final class Pending: Sendable {
  private let list = Mutex<[LoopBound<Exchange>]>([])

  func append(_ exchange: LoopBound<Exchange>) { list.withLock { $0.append(exchange) } }

  func take() -> LoopBound<Exchange>? { list.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

  /// Waits for an exchange; false when none comes.
  func wait() async throws -> Bool {
    await soon { list.withLock { !$0.isEmpty } }
  }

  /// Answers each with its body. On the loop.
  func echoAll() {
    while let exchange = take()?.value {
      exchange.collectBody(limit: 1 << 20) { exchange.respond(status: 200, body: $0) }
    }
  }

  /// On the loop.
  func respondAll() {
    while let exchange = take() { exchange.value.respond(status: 200) }
  }
}
