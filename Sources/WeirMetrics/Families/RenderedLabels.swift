/// A label set as the page shows it, without braces: `method="GET",code="200"`.
///
/// The text also identifies the series, so that two series can't show the same line.
struct RenderedLabels: Sendable, Hashable {
  let text: [UInt8]
  /// Whether a byte of a value had to be escaped.
  let isEscaped: Bool

  static let none = RenderedLabels(text: [], isEscaped: false)
}

extension RenderedLabels: Comparable {
  static func < (left: RenderedLabels, right: RenderedLabels) -> Bool {
    left.text.withUnsafeBytes { left in
      right.text.withUnsafeBytes { compareText(left, $0) < 0 }
    }
  }
}
