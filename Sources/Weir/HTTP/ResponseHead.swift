import Foundation
import WeirHTTP

/// The bytes of one response head and the reading of its fields.
///
/// The head comes from the engine, which has checked its framing and unfolded its lines, but the reading trusts nothing: a
/// line that begins with a blank or has no colon is skipped, bytes that are not UTF-8 are read as ISO Latin 1.
package struct ResponseHead: Sendable {
  package let bytes: [UInt8]

  private static let usualFieldCount = 16

  package init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The value of a field, repeated ones joined by `, ` (RFC 9110 section 5.2); nil when absent.
  package func value(forField name: String) -> String? {
    var name = name
    return name.withUTF8 { name in
      bytes.withUnsafeBytes { bytes in
        var value: String?
        var lines = FieldLines(bytes)
        while let line = lines.next() {
          guard line.hasName(name, in: bytes) else { continue }
          let text = line.valueText(in: bytes)
          value = value.map { "\($0), \(text)" } ?? text
        }
        return value
      }
    }
  }

  /// Passes on each field as received.
  package func forEachField(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      var lines = FieldLines(bytes)
      while let line = lines.next() {
        body(
          UnsafeRawBufferPointer(rebasing: bytes[line.name]),
          UnsafeRawBufferPointer(rebasing: bytes[bytes.trimmed(line.value)]))
      }
    }
  }

  /// All fields, repeated ones joined under their first spelling.
  package func combinedFields() -> [String: String] {
    var fields: [(name: String, value: String)] = []
    // Linear in the number of fields, which is the server's choice.
    var positions: [String: Int] = [:]
    positions.reserveCapacity(Self.usualFieldCount)
    fields.reserveCapacity(Self.usualFieldCount)
    bytes.withUnsafeBytes { bytes in
      var lines = FieldLines(bytes)
      while let line = lines.next() {
        let name = line.nameText(in: bytes)
        let value = line.valueText(in: bytes)
        let key = FieldSyntax.lowercased(name)
        if let position = positions[key] {
          fields[position].value += ", \(value)"
        } else {
          positions[key] = fields.count
          fields.append((name, value))
        }
      }
    }
    var combined = [String: String](minimumCapacity: fields.count)
    for field in fields { combined[field.name] = field.value }
    return combined
  }
}

/// Walks the field lines of a head.
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
      let end = endOfLine(from: start)
      position = end
      guard !bytes[start].isBlank, let colon = bytes.position(of: UInt8(ascii: ":"), in: start..<end) else { continue }
      // RFC 9112 section 5.1 has blanks before the colon removed.
      let name = bytes.trimmed(start..<colon)
      if name.isEmpty { continue }
      return FieldLine(name: name, value: (colon + 1)..<end)
    }
    return nil
  }

  private func endOfLine(from start: Int) -> Int {
    bytes.position(of: UInt8(ascii: "\n"), in: start..<bytes.count).map { $0 + 1 } ?? bytes.count
  }
}

/// Where one field's name and value lie; the value with the blanks around it.
private struct FieldLine {
  let name: Range<Int>
  let value: Range<Int>

  func hasName(_ wanted: UnsafeBufferPointer<UInt8>, in bytes: UnsafeRawBufferPointer) -> Bool {
    UnsafeRawBufferPointer(rebasing: bytes[name]).equalsIgnoringCase(UnsafeRawBufferPointer(wanted))
  }

  func nameText(in bytes: UnsafeRawBufferPointer) -> String {
    text(UnsafeRawBufferPointer(rebasing: bytes[name]))
  }

  func valueText(in bytes: UnsafeRawBufferPointer) -> String {
    text(UnsafeRawBufferPointer(rebasing: bytes[bytes.trimmed(value)]))
  }

  private func text(_ raw: UnsafeRawBufferPointer) -> String {
    if let text = String(validating: raw.bindMemory(to: UInt8.self), as: UTF8.self) { return text }
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: raw.lazy.map { Unicode.Scalar($0) })
    return String(scalars)
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func position(of byte: UInt8, in range: Range<Int>) -> Int? {
    guard let baseAddress, !range.isEmpty else { return nil }
    let start = baseAddress + range.lowerBound
    guard let found = memchr(start, Int32(byte), range.count) else { return nil }
    return range.lowerBound + (UnsafeRawPointer(found) - start)
  }

  fileprivate func trimmed(_ range: Range<Int>) -> Range<Int> {
    var low = range.lowerBound
    var high = range.upperBound
    while low < high, self[low].isBlank || self[low].isLineBreak { low += 1 }
    while high > low, self[high - 1].isBlank || self[high - 1].isLineBreak { high -= 1 }
    return low..<high
  }
}
