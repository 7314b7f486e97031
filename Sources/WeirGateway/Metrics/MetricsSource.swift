import Synchronization

/// The things of which a collector tells, asked for anew for each page.
final class MetricsSource<Item: Sendable>: Sendable {
  /// A closure that is itself the value of a `Mutex` gets another wrapper at each look at it, as of Swift 6.3. With
  /// enough of them a call overflows the stack.
  private struct Field: Sendable {
    var read: @Sendable () -> [Item] = { [] }
  }

  private let field = Mutex(Field())

  func follow(_ read: @escaping @Sendable () -> [Item]) { field.withLock { $0.read = read } }

  var items: [Item] {
    let read = field.withLock { $0.read }
    return read()
  }
}
