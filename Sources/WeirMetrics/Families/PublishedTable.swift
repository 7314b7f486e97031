import Synchronization

/// The writer's side of a table that is read without a lock. Its owner guards it by a lock, and keeps the address that
/// readers begin with.
///
/// **Removal.** A reader without a lock may be anywhere in a table when an object is removed, so no object of the table
/// can be freed while there may be readers. The first removal therefore ends lock-free reading for good: the address is
/// nil from then on. The tables of that time stay unchanged until the owner ends; the number of objects bounds them. A
/// copy takes their place, which is read under the lock and frees its memory. Owners without removals, most of them,
/// pay nothing for this.
struct PublishedTable<Element: AnyObject & Sendable>: Sendable {
  /// Where readers find the table; nil if they need the lock.
  typealias Address = Atomic<Unmanaged<ObjectTable<Element>>?>

  private(set) var table: ObjectTable<Element>
  private(set) var count = 0
  private(set) var readsNeedLock = false
  /// Tables that may still have readers.
  private var retired: [ObjectTable<Element>] = []

  init(_ table: ObjectTable<Element>) {
    self.table = table
  }

  /// Adds an object that is not in the table, after more room is made for it if need be.
  mutating func insert(_ element: Element, hash: UInt64, _ address: borrowing Address) {
    let capacity = table.mask + 1
    if (count + 1) * 4 > capacity * 3 {
      let larger = table.copy(capacity: capacity * 2)
      if !readsNeedLock {
        retired.append(table)
        address.store(Unmanaged.passUnretained(larger), ordering: .releasing)
      }
      table = larger
    }
    table.insert(element, hash: hash)
    count += 1
  }

  /// Removes an object that is in the table.
  mutating func remove(_ element: Element, hash: UInt64, _ address: borrowing Address) {
    if !readsNeedLock {
      address.store(nil, ordering: .releasing)
      readsNeedLock = true
      retired.append(table)
      table = table.copy(capacity: table.mask + 1)
    }
    table.remove(element, hash: hash)
    count -= 1
  }
}
