/// Labels as text that a lookup seeks, on the stack.
///
/// A lookup must not cost much more than one by typed labels, although it has twice as many strings to hash and no
/// order that could be relied upon. So the hash of a set is the sum of those of its pairs, and pairs are compared by
/// their hashes first.
struct SoughtLabels {
  private let labels: UnsafeBufferPointer<SoughtLabel>
  let hash: LabelHash

  /// Passes the labels that have a value to `body`; they are valid during the call.
  @inline(__always)
  static func with<Result>(_ labels: [String: String], seed: UInt64, _ body: (SoughtLabels) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: SoughtLabel.self, capacity: labels.count) { memory in
      var (count, sum) = (0, LabelHash(seed: seed))
      for (name, value) in labels where !value.isEmpty {
        let label = SoughtLabel(name, value, seed: seed)
        memory.initializeElement(at: count, to: label)
        sum.state &+= label.hash
        sum.isOversized = sum.isOversized || label.isOversized
        count &+= 1
      }
      let shown = UnsafeBufferPointer(start: memory.baseAddress, count: count)
      return withExtendedLifetime(labels) { body(SoughtLabels(labels: shown, hash: sum)) }
    }
  }

  /// Whether a series has these labels and no others.
  @inline(__always)
  func areLabels(of series: Series) -> Bool {
    guard let own = series.labelSet?.labels, own.count == labels.count else { return false }
    for place in 0..<labels.count {
      guard own.contains(where: { $0.isEqual(labels[place]) }) else { return false }
    }
    return true
  }
}

/// A label's name and value, which somebody else keeps alive, and their hash.
struct SoughtLabel: BitwiseCopyable {
  let hash: UInt64
  fileprivate let isOversized: Bool
  private let name: BorrowedString
  private let value: BorrowedString

  @inline(__always)
  init(_ name: String, _ value: String, seed: UInt64) {
    self.name = BorrowedString(name)
    self.value = BorrowedString(value)
    var hash = LabelHash(seed: seed)
    self.name.combine(into: &hash)
    self.value.combine(into: &hash)
    self.hash = hash.state
    isOversized = hash.isOversized
  }

  @inline(__always)
  fileprivate func isEqual(_ other: SoughtLabel) -> Bool {
    hash == other.hash && name.isEqual(other.name) && value.isEqual(other.value)
  }
}

/// A string's two words, without a reference to its bytes: the string must outlive them.
///
/// The copies of a string are retained and released, which here would cost more than all the rest. Strings with equal
/// words are equal. On platforms of 64 bits, the words of a short string contain its bytes, so that other words mean
/// other bytes. Only a short string that was once longer may have another form. A lookup does not find it, and leaves
/// it to the store, which makes a copy.
private struct BorrowedString: BitwiseCopyable {
  let words: (UInt64, UInt64)
  let isShort: Bool

  @inline(__always)
  init(_ string: String) {
    words = unsafeBitCast(string, to: (UInt64, UInt64).self)
    isShort = string.utf8.count <= 15
  }

  @inline(__always)
  func isEqual(_ other: BorrowedString) -> Bool {
    words == other.words || !isShort && hasBytes(of: other)
  }

  @inline(__always)
  func combine(into hash: inout LabelHash) {
    if isShort { hash.fold(words.0, words.1, 0) } else { hash = bytesCombined(with: hash) }
  }

  @inline(never)
  private func hasBytes(of other: BorrowedString) -> Bool {
    string.withLabelBytes { bytes in other.string.withLabelBytes { compareText(bytes, $0) == 0 } }
  }

  @inline(never)
  private func bytesCombined(with hash: LabelHash) -> LabelHash {
    hash.with(string)
  }

  private var string: String { unsafeBitCast(words, to: String.self) }
}
