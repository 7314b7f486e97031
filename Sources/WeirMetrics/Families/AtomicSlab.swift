public import Synchronization

/// The memory of a series or a table: atomic words that any thread may change at any time, between data that never
/// changes.
///
///     constants … | words … | text … padding
///
/// `@unchecked Sendable` is safe because:
/// 1. the pointer and the counts never change after `init`;
/// 2. every word is an `Atomic` for its whole life, so that no access to it is a data race;
/// 3. constants and text are written in `init` only, before the slab can be shared;
/// 4. the struct can't be copied, so it has one owner, and its `deinit` (the only deallocation) runs when no reference
///    to that owner is left, thus after every access;
/// 5. indices come from the owner, which keeps them below the counts.
@usableFromInline
struct AtomicSlab: ~Copyable, @unchecked Sendable {
  /// Bytes behind the text, so that it can be copied in blocks of 16 bytes.
  @usableFromInline static let padding = 16

  @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let wordCount: Int32
  @usableFromInline let textCount: Int32
  @usableFromInline let constantCount: Int16
  /// Whether the text contains escapes.
  @usableFromInline let isEscaped: Bool

  /// All words are zero.
  init(words count: Int, constants: [Double] = [], text: [UInt8] = [], isEscaped: Bool = false) {
    wordCount = Int32(clamping: count)
    constantCount = Int16(clamping: constants.count)
    textCount = Int32(clamping: text.count)
    self.isEscaped = isEscaped
    let size = (constants.count + count) * 8 + text.count + Self.padding
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    for (index, constant) in constants.enumerated() {
      memory.storeBytes(of: constant, toByteOffset: index * 8, as: Double.self)
    }
    let start = memory + constants.count * 8
    words = start.bindMemory(to: Atomic<UInt64>.self, capacity: count)
    for index in 0..<count { (words + index).initialize(to: Atomic(0)) }
    text.withUnsafeBytes { text in
      UnsafeMutableRawBufferPointer(start: start + count * 8, count: text.count).copyMemory(from: text)
    }
  }

  deinit {
    words.deinitialize(count: Int(wordCount))
    (UnsafeMutableRawPointer(words) - Int(constantCount) * 8).deallocate()
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

  /// Stores a value in place of zero. Returns what was there.
  func storeIfZero(_ index: Int, _ value: UInt64) -> UInt64 {
    words[index].compareExchange(expected: 0, desired: value, ordering: .acquiringAndReleasing).original
  }

  func incrementReleasing(_ index: Int) {
    words[index].wrappingAdd(1, ordering: .releasing)
  }

  @inlinable @inline(__always)
  func increment(_ index: Int) {
    words[index].wrappingAdd(1, ordering: .relaxed)
  }

  @inlinable @inline(__always)
  func constant(_ index: Int) -> Double {
    (constants + index &* 8).load(as: Double.self)
  }

  @inlinable @inline(__always)
  var constants: UnsafeRawPointer {
    UnsafeRawPointer(words) - Int(constantCount) &* 8
  }

  /// The text; `textCount` bytes and the padding may be read.
  @inlinable @inline(__always)
  var text: UnsafeRawPointer {
    UnsafeRawPointer(words) + Int(wordCount) &* 8
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
