public import Synchronization

/// A fixed row of 64-bit words that any thread may read and change at any time: a histogram's buckets, a table's slots.
///
/// `@unchecked Sendable`, proved so:
/// 1. the pointer and the count never change after `init`;
/// 2. every word is an `Atomic` for its whole life, so that no access is a data race;
/// 3. the struct can't be copied, so it has one owner, and its `deinit` (the only deallocation) runs when no reference
///    to that owner is left, thus after every access;
/// 4. indices come from the owner, which keeps them below `count`.
@usableFromInline
struct AtomicSlab: ~Copyable, @unchecked Sendable {
  @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let count: Int

  /// All words are zero.
  init(count: Int) {
    self.count = max(count, 1)
    words = .allocate(capacity: self.count)
    for index in 0..<self.count { (words + index).initialize(to: Atomic(0)) }
  }

  deinit {
    words.deinitialize(count: count)
    words.deallocate()
  }

  @inlinable @inline(__always)
  func load(_ index: Int) -> UInt64 {
    words[index].load(ordering: .relaxed)
  }

  @inlinable @inline(__always)
  func loadAcquiring(_ index: Int) -> UInt64 {
    words[index].load(ordering: .acquiring)
  }

  func store(_ index: Int, _ value: UInt64) {
    words[index].store(value, ordering: .relaxed)
  }

  func storeReleasing(_ index: Int, _ value: UInt64) {
    words[index].store(value, ordering: .releasing)
  }

  @inlinable @inline(__always)
  func increment(_ index: Int) {
    words[index].wrappingAdd(1, ordering: .relaxed)
  }

  /// Adds to a word that holds the bit pattern of a `Double`.
  @inlinable @inline(__always)
  func add(_ index: Int, double amount: Double) {
    words[index].addDouble(amount)
  }
}

extension Atomic where Value == UInt64 {
  /// Adds to a word that holds the bit pattern of a `Double`.
  @inlinable @inline(__always)
  func addDouble(_ amount: Double) {
    var seen = load(ordering: .relaxed)
    while true {
      let wanted = (Double(bitPattern: seen) + amount).bitPattern
      let (exchanged, original) = weakCompareExchange(expected: seen, desired: wanted, ordering: .relaxed)
      if exchanged { return }
      seen = original
    }
  }
}
