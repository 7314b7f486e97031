/// The fields of a response head, as places in its bytes.
package struct ResponseFields: Sequence, Sendable {
  /// Where a field's name and its value, without surrounding white space, stand. A folded value (RFC 9112 §5.2) holds
  /// its line ends, which `string` turns into spaces.
  package struct Field: Sendable {
    package let name: Range<Int>
    package let value: Range<Int>
  }

  package let raw: [UInt8]

  package struct Iterator: IteratorProtocol {
    fileprivate let raw: [UInt8]
    fileprivate var cursor: Int

    package mutating func next() -> Field? {
      raw.withUnsafeBytes { ResponseFields.next(in: $0, &cursor) }
    }
  }

  package func makeIterator() -> Iterator {
    Iterator(raw: raw, cursor: raw.withUnsafeBytes(Self.start))
  }

  /// The text of a name or value: UTF-8, or else ISO 8859-1, which any bytes are.
  package func string(_ range: Range<Int>) -> String {
    let bytes = raw[range]
    if bytes.contains(where: { $0 == 13 || $0 == 10 }) {
      return Self.text(bytes.map { $0 == 13 || $0 == 10 ? UInt8(ascii: " ") : $0 })
    }
    return Self.text(bytes)
  }

  private static func text(_ bytes: some Collection<UInt8>) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    var text = ""
    for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
    return text
  }
}

extension ResponseFields {
  /// The place after the status line.
  static func start(in bytes: UnsafeRawBufferPointer) -> Int {
    afterLine(bytes, from: 0)
  }

  static func next(in bytes: UnsafeRawBufferPointer, _ cursor: inout Int) -> Field? {
    while cursor < bytes.count {
      let start = cursor
      var end = afterLine(bytes, from: start)
      while end < bytes.count, isSpace(bytes[end]) { end = afterLine(bytes, from: end) }
      cursor = end
      guard let colon = bytes[start..<end].firstIndex(of: UInt8(ascii: ":")), colon > start else { continue }
      return Field(name: start..<colon, value: trimmed(bytes, colon + 1, end))
    }
    return nil
  }

  /// The range without white space and line ends around it.
  static func trimmed(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int) -> Range<Int> {
    var low = start
    var high = end
    while low < high, isBlank(bytes[low]) { low += 1 }
    while high > low, isBlank(bytes[high - 1]) { high -= 1 }
    return low..<high
  }

  static func isEqual(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ wanted: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    guard range.count == wanted.count else { return false }
    for offset in 0..<wanted.count
    where lowercased(bytes[range.lowerBound + offset]) != lowercased(wanted[offset]) {
      return false
    }
    return true
  }

  private static func afterLine(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var index = start
    while index < bytes.count {
      index += 1
      if bytes[index - 1] == 10 { break }
    }
    return index
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }
  private static func isBlank(_ byte: UInt8) -> Bool { isSpace(byte) || byte == 13 || byte == 10 }
  private static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 65 < 26 ? byte | 32 : byte }
}
