/// A value that only one event loop may touch, held by things that any thread may hold.
///
/// This is how loop-confined state crosses threads: the box travels, the value does not.
///
/// `@unchecked Sendable`: `stored` is read and written only through `value`, which traps unless the calling thread is
/// the loop's own; one thread's accesses cannot race.
package final class LoopBound<Value>: @unchecked Sendable {
  package let loop: EventLoop
  private var stored: Value

  package init(_ value: sending Value, on loop: EventLoop) {
    self.loop = loop
    stored = value
  }

  /// Boxes a value that already lives on the loop; on the loop. Who passes it keeps it there.
  package init(confining value: Value, on loop: EventLoop) {
    loop.preconditionCurrent()
    self.loop = loop
    stored = value
  }

  package var value: Value {
    get {
      loop.preconditionCurrent()
      return stored
    }
    set {
      loop.preconditionCurrent()
      stored = newValue
    }
  }
}
