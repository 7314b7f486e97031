/// A family's label names, prepared for rendering and comparing.
@usableFromInline
struct LabelSchema: Sendable, Equatable {
  let names: [String]
  /// The number of bytes before each value of a rendered label set: `name="`, after the `",` of the label before.
  @usableFromInline let skips: [Int]

  init(names: [String]) {
    self.names = names
    skips = names.enumerated().map { index, name in name.utf8.count + (index == 0 ? 2 : 4) }
  }

  /// The bytes before the value at `index`, which must be below the number of labels.
  @inlinable @inline(__always)
  func skip(_ index: Int) -> Int {
    skips[index]
  }

  /// Renders values, escaped by the rules of the text format: backslash, quote and line feed.
  func render(_ values: [String]) -> RenderedLabels {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(
      zip(names, values).reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 4 })
    var escaped = false
    for (index, (name, value)) in zip(names, values).enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      escaped = Self.append(name, value, to: &bytes) || escaped
    }
    return RenderedLabels(text: bytes, isEscaped: escaped)
  }

  /// Appends `name="value"`; true if something was escaped.
  @discardableResult
  static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) -> Bool {
    bytes.append(contentsOf: name.utf8)
    bytes.append(contentsOf: [UInt8(ascii: "="), UInt8(ascii: "\"")])
    let escaped = Escaping.append(value.utf8, to: &bytes, quotes: true)
    bytes.append(UInt8(ascii: "\""))
    return escaped
  }
}

/// The escapes of the exposition formats.
enum Escaping {
  /// Appends text with backslash and line feed (and, on request, the quote) escaped; true if something was escaped.
  @discardableResult
  static func append(_ text: some Sequence<UInt8>, to bytes: inout [UInt8], quotes: Bool) -> Bool {
    var escaped = false
    for byte in text {
      guard let letter = letter(for: byte), quotes || byte != UInt8(ascii: "\"") else {
        bytes.append(byte)
        continue
      }
      bytes.append(UInt8(ascii: "\\"))
      bytes.append(letter)
      escaped = true
    }
    return escaped
  }

  /// The character after the backslash for a byte that must be escaped; nil for other bytes.
  @inline(__always)
  static func letter(for byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "\\"), UInt8(ascii: "\""): byte
    case UInt8(ascii: "\n"): UInt8(ascii: "n")
    default: nil
    }
  }
}
