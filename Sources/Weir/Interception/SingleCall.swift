import Synchronization

/// Passes on the first call of a completion and ignores any further one, on any thread.
package final class SingleCall<Value: Sendable>: Sendable {
  private let isCalled = Atomic(false)
  private let body: @Sendable (Value) -> Void

  package init(_ body: @escaping @Sendable (Value) -> Void) {
    self.body = body
  }

  /// Passes the value on if this is the first call.
  package func callAsFunction(_ value: Value) {
    if isCalled.exchange(true, ordering: .acquiringAndReleasing) { return }
    body(value)
  }
}
