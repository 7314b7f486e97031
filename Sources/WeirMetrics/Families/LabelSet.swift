/// The labels of one series that were given as text, in the order of their names.
///
/// A label with an empty value is left out: to Prometheus, it is the same as no label. The hash is the sum of the pairs'
/// hashes, so that a lookup need not sort them.
final class LabelSet: Sendable {
  /// The values have their canonical forms.
  let pairs: [(name: String, value: String)]
  let hash: UInt64

  init(_ labels: [String: String], seed: UInt64) {
    pairs = labels.sorted { $0.key < $1.key }.filter { !$0.value.isEmpty }
      .map { ($0.key, LabelText.canonical($0.value)) }
    var sum = LabelHash(seed: seed)
    for (name, value) in pairs { sum.add(name, value) }
    hash = sum.value
  }

  /// Whether these are `labels`, of which `count` have a value.
  @inline(__always)
  func isEqual(_ labels: [String: String], count: Int) -> Bool {
    guard pairs.count == count else { return false }
    for (name, value) in labels where !value.isEmpty {
      guard pairs.contains(where: { $0.name == name && $0.value == value }) else { return false }
    }
    return true
  }

  func rendered() -> RenderedLabels {
    var (text, isEscaped) = ([UInt8](), false)
    for (name, value) in pairs {
      if !text.isEmpty { text.append(UInt8(ascii: ",")) }
      isEscaped = LabelSchema.append(name, value, to: &text) || isEscaped
    }
    return RenderedLabels(text: text, isEscaped: isEscaped)
  }

  /// Whether a series may have labels of these names, those without a value too.
  static func hasValidNames(_ labels: [String: String]) -> Bool {
    labels.keys.allSatisfy { MetricName.isValidLabel($0) && !MetricName.isReservedLabel($0) }
  }
}

extension Series {
  /// Whether its labels were given as text and are these, of which `count` have a value.
  @inline(__always)
  func has(_ labels: [String: String], count: Int) -> Bool {
    labelSet?.isEqual(labels, count: count) ?? false
  }
}

extension LabelHash {
  /// Adds a label to the hash of a set, in which the order means nothing.
  @inline(__always)
  mutating func add(_ name: String, _ value: String) {
    let pair = LabelHash(seed: seed).with(name).with(value)
    state &+= pair.state
    isOversized = isOversized || pair.isOversized
  }
}
