/// An open-addressing table from hashes to objects, read without a lock: from label sets to series, and from names to
/// families.
///
/// Each slot has two words: the hash (zero if free) and the object's address. There is one writer at a time (the
/// owner's lock). It stores the address first and then the hash, releasing, so that a reader that sees the hash also
/// sees the address and the object behind it. A filled slot is not changed while there may be readers. The table holds
/// a reference to each of its objects until its own end.
@usableFromInline
final class ObjectTable<Element: AnyObject & Sendable>: Sendable {
  @usableFromInline let slots: AtomicSlab
  @usableFromInline let mask: Int

  /// `capacity` is a power of two.
  init(capacity: Int) {
    slots = AtomicSlab(words: capacity * 2)
    mask = capacity - 1
  }

  deinit {
    for slot in 0...mask where slots.load(slot * 2) != 0 {
      Self.reference(slots.load(slot * 2 + 1))?.release()
    }
  }

  /// The object with this hash that `matches` accepts. The search ends, because some slots are always free.
  @inlinable @inline(__always)
  func first(_ hash: UInt64, where matches: (Element) -> Bool) -> Element? {
    withFirst(hash, where: matches) { $0 }
  }

  /// Passes the object with this hash that `matches` accepts to `body`, without a reference of its own.
  @inlinable @inline(__always)
  func withFirst<Result>(
    _ hash: UInt64, where matches: (Element) -> Bool, _ body: (Element) -> Result
  ) -> Result? {
    var slot = Int(truncatingIfNeeded: hash) & mask
    while true {
      let seen = slots.loadAcquiring(slot &* 2)
      if seen == hash, let reference = Self.reference(slots.load(slot &* 2 &+ 1)) {
        if reference._withUnsafeGuaranteedRef(matches) { return reference._withUnsafeGuaranteedRef(body) }
      }
      if seen == 0 { return nil }
      slot = (slot &+ 1) & mask
    }
  }

  @inlinable @inline(__always)
  static func reference(_ word: UInt64) -> Unmanaged<Element>? {
    guard let address = UnsafeRawPointer(bitPattern: UInt(truncatingIfNeeded: word)) else { return nil }
    return Unmanaged.fromOpaque(address)
  }

  /// Adds an object that is not in the table. The owner keeps a quarter of the slots free.
  func insert(_ element: Element, hash: UInt64) {
    var slot = Int(truncatingIfNeeded: hash) & mask
    while slots.load(slot * 2) != 0 { slot = (slot + 1) & mask }
    let address = Unmanaged.passRetained(element).toOpaque()
    slots.store(slot * 2 + 1, UInt64(UInt(bitPattern: address)))
    slots.storeReleasing(slot * 2, hash)
  }

  /// A table of another size with the same objects.
  func copy(capacity: Int) -> ObjectTable {
    let copy = ObjectTable(capacity: capacity)
    for (element, hash) in all { copy.insert(element, hash: hash) }
    return copy
  }

  /// The table's contents. Only for the owner, under its lock.
  var all: [(element: Element, hash: UInt64)] {
    (0...mask).compactMap { slot in
      let hash = slots.load(slot * 2)
      guard hash != 0, let reference = Self.reference(slots.load(slot * 2 + 1)) else { return nil }
      return (reference.takeUnretainedValue(), hash)
    }
  }

  /// Removes an object. Only for a table that is read under the owner's lock.
  func remove(_ element: Element, hash: UInt64) {
    let address = UInt64(UInt(bitPattern: Unmanaged.passUnretained(element).toOpaque()))
    var slot = Int(truncatingIfNeeded: hash) & mask
    while slots.load(slot * 2 + 1) != address {
      if slots.load(slot * 2) == 0 { return }
      slot = (slot + 1) & mask
    }
    closeGap(at: slot)
    Self.reference(address)?.release()
  }

  /// Moves back the entries that a search would no longer reach across the free slot.
  private func closeGap(at start: Int) {
    var hole = start
    var slot = start
    while true {
      slot = (slot + 1) & mask
      let hash = slots.load(slot * 2)
      if hash == 0 { break }
      let home = Int(truncatingIfNeeded: hash) & mask
      guard (slot &- home) & mask >= (slot &- hole) & mask else { continue }
      slots.store(hole * 2, hash)
      slots.store(hole * 2 + 1, slots.load(slot * 2 + 1))
      hole = slot
    }
    slots.store(hole * 2, 0)
    slots.store(hole * 2 + 1, 0)
  }
}
