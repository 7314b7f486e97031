/// The bytes of one response head and the reading of its fields.
///
/// The head comes from libcurl, which has checked its framing, but the reading trusts nothing: a line without a colon
/// is skipped, a folded line (RFC 9112 section 5.2) is unfolded to one space, bytes that are not UTF-8 are read as
/// ISO Latin 1.
package struct ResponseHead: Sendable {
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The value of a field, repeated ones joined by `, ` (RFC 9110 section 5.2); nil when absent.
  package func value(forField name: String) -> String? {
    var value: String?
    bytes.withUnsafeBytes { bytes in
      var lines = FieldLines(bytes)
      while let line = lines.next() {
        guard line.hasName(name, in: bytes) else { continue }
        let text = line.valueText(in: bytes)
        value = value.map { "\($0), \(text)" } ?? text
      }
    }
    return value
  }

  /// Passes on each field as received; a folded value with its folds.
  package func forEachField(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      var lines = FieldLines(bytes)
      while let line = lines.next() {
        body(UnsafeRawBufferPointer(rebasing: bytes[line.name]), UnsafeRawBufferPointer(rebasing: bytes[line.value]))
      }
    }
  }

  /// All fields, repeated ones joined under their first spelling.
  package func combinedFields() -> [String: String] {
    var fields: [String: String] = [:]
    var spellings: [String: String] = [:]
    bytes.withUnsafeBytes { bytes in
      var lines = FieldLines(bytes)
      while let line = lines.next() {
        let name = line.nameText(in: bytes)
        let value = line.valueText(in: bytes)
        if let first = spellings.updateValue(name, forKey: name.lowercased()) {
          spellings[name.lowercased()] = first
          fields[first] = fields[first].map { "\($0), \(value)" } ?? value
        } else {
          fields[name] = value
        }
      }
    }
    return fields
  }
}

/// Walks the field lines of a head, folded lines included in the one they continue.
private struct FieldLines {
  private let bytes: UnsafeRawBufferPointer
  private var position: Int

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    position = 0
    position = endOfLine(from: 0)
  }

  mutating func next() -> FieldLine? {
    while position < bytes.count {
      let start = position
      var end = endOfLine(from: start)
      var isFolded = false
      while end < bytes.count, isBlank(bytes[end]) {
        isFolded = true
        end = endOfLine(from: end)
      }
      position = end
      guard let colon = bytes[start..<end].firstIndex(of: UInt8(ascii: ":")) else { continue }
      let name = trim(start..<colon)
      if name.isEmpty { continue }
      return FieldLine(name: name, value: trim((colon + 1)..<end), isFolded: isFolded)
    }
    return nil
  }

  private func endOfLine(from start: Int) -> Int {
    bytes[start...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
  }

  private func trim(_ range: Range<Int>) -> Range<Int> {
    var low = range.lowerBound
    var high = range.upperBound
    while low < high, isSpace(bytes[low]) { low += 1 }
    while high > low, isSpace(bytes[high - 1]) { high -= 1 }
    return low..<high
  }

  private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private func isSpace(_ byte: UInt8) -> Bool { isBlank(byte) || byte == 0x0D || byte == 0x0A }
}

/// Where one field's name and value lie.
private struct FieldLine {
  let name: Range<Int>
  let value: Range<Int>
  let isFolded: Bool

  func hasName(_ wanted: String, in bytes: UnsafeRawBufferPointer) -> Bool {
    guard wanted.utf8.count == name.count else { return false }
    return zip(wanted.utf8, bytes[name]).allSatisfy { FieldSyntax.lowercased($0) == FieldSyntax.lowercased($1) }
  }

  func nameText(in bytes: UnsafeRawBufferPointer) -> String {
    text(UnsafeRawBufferPointer(rebasing: bytes[name]))
  }

  func valueText(in bytes: UnsafeRawBufferPointer) -> String {
    let raw = UnsafeRawBufferPointer(rebasing: bytes[value])
    guard isFolded else { return text(raw) }
    return unfolded(raw).withUnsafeBytes(text)
  }

  /// Each fold (blanks, line break, blanks) becomes one space.
  private func unfolded(_ raw: UnsafeRawBufferPointer) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(raw.count)
    var index = 0
    while index < raw.count {
      guard raw[index] == 0x0D || raw[index] == 0x0A else {
        result.append(raw[index])
        index += 1
        continue
      }
      while let last = result.last, last == 0x20 || last == 0x09 { result.removeLast() }
      while index < raw.count, raw[index] == 0x0D || raw[index] == 0x0A || raw[index] == 0x20 || raw[index] == 0x09 {
        index += 1
      }
      result.append(0x20)
    }
    return result
  }

  private func text(_ raw: UnsafeRawBufferPointer) -> String {
    if let text = String(validating: raw.bindMemory(to: UInt8.self), as: UTF8.self) { return text }
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: raw.lazy.map { Unicode.Scalar($0) })
    return String(scalars)
  }
}
