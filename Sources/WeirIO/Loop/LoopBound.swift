/// A value that only one event loop may touch, held by things that any thread may hold.
///
/// This is how loop-confined state crosses threads: the box travels, the value does not. The value also ends on the
/// loop: when the last reference goes on another thread, the value is sent to the loop to be destroyed.
///
/// `@unchecked Sendable`: `address` is read and written only through `value`, which traps on any thread but the loop's
/// own. The value is destroyed on that thread too. The accesses of one thread cannot race.
package final class LoopBound<Value>: @unchecked Sendable {
  package let loop: EventLoop
  private let address = UnsafeMutablePointer<Value>.allocate(capacity: 1)

  /// Boxes a value that has no other reference; on any thread.
  package init(_ value: sending Value, on loop: EventLoop) {
    self.loop = loop
    address.initialize(to: value)
  }

  /// Boxes a value that already lives on the loop; on the loop. The caller's own references must stay on the loop.
  package init(confining value: Value, on loop: EventLoop) {
    loop.preconditionCurrent()
    self.loop = loop
    address.initialize(to: value)
  }

  deinit {
    if loop.isCurrent { return Self.destroy(address) }
    nonisolated(unsafe) let address = address
    loop.post { Self.destroy(address) }
  }

  private static func destroy(_ address: UnsafeMutablePointer<Value>) {
    address.deinitialize(count: 1)
    address.deallocate()
  }

  package var value: Value {
    get {
      loop.preconditionCurrent()
      return address.pointee
    }
    _modify {
      loop.preconditionCurrent()
      yield &address.pointee
    }
  }
}
