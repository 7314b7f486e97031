/// A first-in, first-out queue on a ring buffer. It is inlinable because a generic type whose code other modules can't
/// see takes ten times as long there.
package struct Deque<Element> {
  @usableFromInline var storage: [Element?] = []
  @usableFromInline var head = 0
  @usableFromInline package internal(set) var count = 0
  /// The number of elements that the storage has room for. Kept, as a look at the storage's type is slow in generic code.
  @usableFromInline package internal(set) var capacity = 0

  @inlinable package init() {}

  @inlinable @inline(__always) package var isEmpty: Bool { count == 0 }
  @inlinable @inline(__always) package var first: Element? { count == 0 ? nil : storage[head] }

  @inlinable package mutating func append(_ element: Element) {
    if count == storage.count { grow() }
    storage[(head &+ count) & (storage.count - 1)] = element
    count += 1
  }

  @inlinable package mutating func append(contentsOf elements: some Sequence<Element>) {
    for element in elements { append(element) }
  }

  @inlinable package mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = storage[head].take()
    head = (head &+ 1) & (storage.count - 1)
    count -= 1
    // What a crowd took is given back once it is gone.
    if count == 0, capacity > 1024 { self = Deque() }
    return element
  }

  /// Removes the elements for which `shouldRemove` is true, and returns them.
  @discardableResult
  @inlinable package mutating func removeAll(where shouldRemove: (Element) -> Bool) -> [Element] {
    var kept = Deque()
    var removed: [Element] = []
    while let element = popFirst() {
      if shouldRemove(element) { removed.append(element) } else { kept.append(element) }
    }
    self = kept
    return removed
  }

  /// Doubles the capacity, which stays a power of two so that an index wraps around by a mask.
  @usableFromInline mutating func grow() {
    var larger: [Element?] = []
    larger.reserveCapacity(max(8, storage.count * 2))
    for offset in 0..<count { larger.append(storage[(head &+ offset) & (storage.count - 1)]) }
    larger.append(contentsOf: repeatElement(nil, count: max(8, storage.count * 2) - count))
    storage = larger
    capacity = larger.count
    head = 0
  }
}

extension Deque: Sendable where Element: Sendable {}
