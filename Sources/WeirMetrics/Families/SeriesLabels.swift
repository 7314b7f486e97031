/// A series' labels, rendered once when the series was made.
///
/// The text is both what the page shows and what identifies the series, so that two series can't show the same line.
public struct SeriesLabels: Sendable, CustomStringConvertible {
  /// Bytes after the text, so that it can be copied in blocks of 16. The last tells whether the text holds escapes.
  @usableFromInline static let padding = 16

  @usableFromInline let bytes: [UInt8]

  init(rendered: [UInt8], escaped: Bool) {
    var bytes = rendered
    bytes.append(contentsOf: repeatElement(0, count: Self.padding - 1))
    bytes.append(escaped ? 1 : 0)
    self.bytes = bytes
  }

  /// No labels.
  static let none = SeriesLabels(rendered: [], escaped: false)

  /// As on the page, without braces: `method="GET",code="200"`.
  public var description: String {
    String(decoding: rendered, as: UTF8.self)
  }

  var rendered: ArraySlice<UInt8> {
    bytes.dropLast(Self.padding)
  }

  var isEmpty: Bool {
    bytes.count == Self.padding
  }

  /// Gives a comparer for values in the order of the schema.
  @inlinable @inline(__always)
  func withMatcher<Result>(_ schema: borrowing LabelSchema, _ body: (inout LabelMatcher) -> Result) -> Result {
    bytes.withUnsafeBytes { bytes in
      schema.skips.withUnsafeBufferPointer { skips in
        var matcher = LabelMatcher(text: bytes, skips: skips)
        return body(&matcher)
      }
    }
  }
}

extension SeriesLabels: Comparable, Hashable {
  public static func == (left: SeriesLabels, right: SeriesLabels) -> Bool {
    left.bytes == right.bytes
  }

  public static func < (left: SeriesLabels, right: SeriesLabels) -> Bool {
    left.bytes.withUnsafeBytes { left in
      right.bytes.withUnsafeBytes { right in
        let ends = (left.count - padding, right.count - padding)
        let order = compareBytes(left, right, min(ends.0, ends.1))
        return order == 0 ? ends.0 < ends.1 : order < 0
      }
    }
  }
}
