/// A value that only one event loop may touch, held by things that any thread may hold.
///
/// This is how loop-confined state crosses threads: the box travels, the value does not. The value also ends on the
/// loop: when the last reference goes on another thread, the value is sent to the loop to be destroyed.
///
/// `@unchecked Sendable`: `cell` is read and written only through `value`, which traps on any thread but the loop's
/// own. It is destroyed on that thread too. The accesses of one thread cannot race.
package final class LoopBound<Value>: @unchecked Sendable {
  package let loop: EventLoop
  private let cell: Cell

  /// Boxes a value that has no other reference; on any thread.
  package init(_ value: sending Value, on loop: EventLoop) {
    self.loop = loop
    cell = Cell(value)
  }

  /// Boxes a value that already lives on the loop; on the loop. The caller's own references must stay on the loop.
  package init(confining value: Value, on loop: EventLoop) {
    loop.preconditionCurrent()
    self.loop = loop
    cell = Cell(value)
  }

  deinit {
    if loop.isCurrent {
      cell.destroy()
    } else {
      loop.post { [cell] in cell.destroy() }
    }
  }

  package var value: Value {
    get {
      loop.preconditionCurrent()
      return cell.address.pointee
    }
    _modify {
      loop.preconditionCurrent()
      yield &cell.address.pointee
    }
  }

  /// The memory that holds the value.
  ///
  /// `@unchecked Sendable`: the address never changes, and `LoopBound` says why accesses to the value can't race.
  private struct Cell: @unchecked Sendable {
    let address: UnsafeMutablePointer<Value>

    init(_ value: Value) {
      address = .allocate(capacity: 1)
      address.initialize(to: value)
    }

    func destroy() {
      address.deinitialize(count: 1)
      address.deallocate()
    }
  }
}
