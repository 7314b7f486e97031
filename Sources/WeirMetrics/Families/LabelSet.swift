/// The labels of one series that were given as text, in the form in which the series keeps them.
///
/// A label with an empty value is left out: to Prometheus, it is the same as no label.
///
/// `@unchecked Sendable` is safe because nothing changes after `init`. `labels` refers to the strings of `pairs`.
final class LabelSet: @unchecked Sendable {
  /// In the order of their names, with the values' canonical forms.
  let pairs: [(name: String, value: String)]
  /// The same labels, as lookups compare them: an array would be retained for each comparison.
  let labels: UnsafeBufferPointer<SoughtLabel>
  let hash: UInt64

  init(_ labels: [String: String], seed: UInt64) {
    // Copies have the form that the standard library gives to all short strings.
    pairs = labels.sorted { $0.key < $1.key }.filter { !$0.value.isEmpty }
      .map { (String(decoding: Array($0.key.utf8), as: UTF8.self), LabelText.canonical($0.value)) }
    let memory = UnsafeMutableBufferPointer<SoughtLabel>.allocate(capacity: pairs.count)
    _ = memory.initialize(from: pairs.map { SoughtLabel($0.name, $0.value, seed: seed) })
    self.labels = UnsafeBufferPointer(memory)
    var sum = LabelHash(seed: seed)
    for label in self.labels { sum.state &+= label.hash }
    hash = sum.value
  }

  deinit { labels.deallocate() }

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
