/// A family's label names, prepared for rendering and comparing.
@usableFromInline
struct LabelSchema: Sendable, Equatable {
  let names: [String]
  /// Whether the last label is left out if its value is empty.
  let omitsEmptyLast: Bool
  /// The number of bytes before each value of a rendered label set: `name="`, after the `",` of the label before.
  @usableFromInline let skips: [Int]

  init(names: [String], omitsEmptyLast: Bool = false) {
    self.names = names
    self.omitsEmptyLast = omitsEmptyLast && names.count > 1
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
      if omitsEmptyLast, value.isEmpty, index == names.count - 1 { break }
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      escaped = Self.append(name, value, to: &bytes) || escaped
    }
    return RenderedLabels(text: bytes, isEscaped: escaped)
  }

  /// `name="value"`, as in a label set's text.
  static func pair(_ name: String, _ value: String) -> [UInt8] {
    var text: [UInt8] = []
    _ = append(name, value, to: &text)
    return text
  }

  /// Passes the names and values in a label set's text to `body`, the values as they were before they were escaped.
  static func forEachPair(
    in text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
  ) {
    var rest = text[...]
    while let equals = rest.firstIndex(of: UInt8(ascii: "=")) {
      let value = rest[equals...].dropFirst(2)
      var (end, isEscaped) = (value.startIndex, false)
      while end < value.endIndex, value[end] != UInt8(ascii: "\"") {
        if value[end] == UInt8(ascii: "\\") { (isEscaped, end) = (true, end + 1) }
        end += 1
      }
      let name = UnsafeRawBufferPointer(rebasing: rest[..<equals])
      let bytes = UnsafeRawBufferPointer(rebasing: value.prefix(upTo: min(end, value.endIndex)))
      if isEscaped {
        Escaping.removed(from: bytes).withUnsafeBytes { body(name, $0) }
      } else {
        body(name, bytes)
      }
      // The value is followed by a quote, and that by a comma if there is another name.
      rest = value.dropFirst(bytes.count + 2)
    }
  }

  /// Appends `name="value"`; true if something was escaped.
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

  /// The text before it was escaped.
  static func removed(from text: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes: [UInt8] = []
    var isAfterBackslash = false
    for byte in text {
      if !isAfterBackslash, byte == UInt8(ascii: "\\") {
        isAfterBackslash = true
      } else {
        bytes.append(isAfterBackslash && byte == UInt8(ascii: "n") ? UInt8(ascii: "\n") : byte)
        isAfterBackslash = false
      }
    }
    return bytes
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

/// The form in which a label's value is kept: valid UTF-8 of at most 4 KiB.
@usableFromInline
enum LabelText {
  @usableFromInline static let limit = 4096
  /// The value of every label of the series that counts label sets beyond the family's limit.
  static let other = "_other"

  @usableFromInline
  static func canonical(_ value: some LabelValue) -> String {
    // Invalid bytes are repaired, which can make the text longer: hence the second cut.
    let text = value.withLabelBytes { String(decoding: $0.prefix(boundary($0)), as: UTF8.self) }
    guard text.utf8.count > limit else { return text }
    return text.withLabelBytes { String(decoding: $0.prefix(boundary($0)), as: UTF8.self) }
  }

  /// The number of bytes to keep: those before the scalar that crosses the limit.
  private static func boundary(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count > limit else { return bytes.count }
    // A scalar has at most three continuation bytes; more of them in a row are not UTF-8 and are repaired anyway.
    for end in stride(from: limit, through: limit - 3, by: -1) where bytes[end] & 0xC0 != 0x80 { return end }
    return limit
  }
}
