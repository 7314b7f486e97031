/// A value that only one event loop may touch, held by things that any thread may hold.
///
/// This is how loop-confined state crosses threads: the box travels, the value does not. It also ends on the loop: when
/// the last reference goes elsewhere, the value is sent there to be destroyed.
///
/// `@unchecked Sendable`: `cell` is read and written only through `value`, which traps unless the calling thread is
/// the loop's own, and destroyed on that thread; one thread's accesses cannot race.
package final class LoopBound<Value>: @unchecked Sendable {
  package let loop: EventLoop
  private let cell: Cell

  /// Boxes a value that nobody else refers to; on any thread.
  package init(_ value: sending Value, on loop: EventLoop) {
    self.loop = loop
    cell = Cell(value)
  }

  /// Boxes a value that already lives on the loop; on the loop. Who passes it keeps it there.
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

  /// Where the value lies.
  ///
  /// `@unchecked Sendable`: the address never changes, and `LoopBound` says why what lies there can't be raced for.
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
