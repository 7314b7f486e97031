/// The ranges of a field's name and value among the octets of a head, without the blanks around them.
@usableFromInline
package struct FieldLine: Hashable, Sendable {
  @usableFromInline package let name: Range<Int>
  @usableFromInline package let value: Range<Int>
  /// The whole line, if it can be passed on as it is: a token, a colon, one space, a value without control characters, CR LF.
  /// Empty for all others.
  @usableFromInline package var plain = 0..<0

  @inlinable
  init(name: Range<Int>, value: Range<Int>) {
    self.name = name
    self.value = value
  }
}

// Tolerant reading, for the recipient of responses, which must accept imperfect heads.
extension FieldLine {
  /// Reads the line of `octets` that lies within `line`, with or without its end. Nil when the line has no name: it
  /// begins with a blank, or has no colon. Blanks before the colon are dropped (RFC 9112 §5.1).
  @inlinable
  package init?(_ octets: UnsafeRawBufferPointer, in line: Range<Int>) {
    guard !line.isEmpty, !octets[line.lowerBound].isBlank, let colon = octets.firstIndex(of: .colon, in: line) else {
      return nil
    }
    name = octets.trimmed(line.lowerBound..<colon, of: { $0.isBlank || $0.isLineBreak })
    if name.isEmpty { return nil }
    value = octets.trimmed(colon + 1..<line.upperBound, of: { $0.isBlank || $0.isLineBreak })
  }

  /// Reads a line if its field is `name`, which is in lower case.
  @inlinable
  package init?(_ line: UnsafeRawBufferPointer, named name: StaticString) {
    guard line.begins(with: name), let field = FieldLine(line, in: 0..<line.count),
      field.name == 0..<name.utf8CodeUnitCount
    else { return nil }
    self = field
  }
}

// Strict reading, for the server, which refuses lines that others could read differently.
extension FieldLine {
  @usableFromInline
  package enum Defect: Error {
    /// The line begins with a blank (RFC 9112 §5.2).
    case folded
    /// The name is not a token, or the colon does not directly follow it.
    case name
    /// The value contains a control character.
    case value
  }

  /// Reads a line without its end.
  @inlinable
  package init(strictly line: Span<UInt8>) throws(Defect) {
    guard line.count > 0, !line[0].isBlank else { throw .folded }
    let end = line.withUnsafeBytes { $0.endOfToken(in: 0..<$0.count) }
    guard end > 0, end < line.count, line[end] == .colon else { throw .name }
    name = 0..<end
    value = line.trimmed(end + 1..<line.count)
    guard line.withUnsafeBytes({ [value] in !$0.hasControl(in: value) }) else { throw .value }
  }
}

// Strict reading of responses. It differs from the server's in what a recipient of responses must accept.
extension FieldLine {
  /// Reads the line of `octets` within `line`, which is without its end. Blanks before the colon are left out of the
  /// name (RFC 9112 §5.1).
  @inlinable
  package init(strictly octets: UnsafeRawBufferPointer, in line: Range<Int>) throws(ResponseDefect) {
    guard !line.isEmpty, !octets[line.lowerBound].isBlank else { throw .malformedHead(.fold) }
    let end = octets.endOfToken(in: line)
    var colon = end
    while colon < line.upperBound, octets[colon].isBlank { colon += 1 }
    guard end > line.lowerBound, colon < line.upperBound, octets[colon] == .colon else {
      throw .malformedHead(.fieldName)
    }
    guard !octets.hasBreak(in: colon + 1..<line.upperBound) else { throw .malformedHead(.fieldValue) }
    name = line.lowerBound..<end
    value = octets.trimmed(colon + 1..<line.upperBound)
  }
}

/// A field line in the usual form: a token, a colon, a value without tabs or other control characters, CR LF. Most lines
/// have it, and are found and checked in one pass, without a search for their ends.
@usableFromInline
package struct UsualField {
  /// The end of the name, where the colon is.
  @usableFromInline package let colon: Int
  /// The end of the value and of the blanks behind it.
  @usableFromInline package let valueEnd: Int
  @usableFromInline package let lineEnd: Int

  /// Reads the line that begins at `start`. A nil means nothing about it: it has another form, or no end yet, and must
  /// be read with care.
  @inlinable @inline(__always)
  package init?(_ octets: UnsafeRawPointer, from start: Int, before end: Int) {
    let colon = octets.endOfToken(from: start, before: end)
    guard colon > start, colon < end, octets[colon] == .colon else { return nil }
    let valueEnd = octets.firstControl(from: colon &+ 1, before: end)
    guard valueEnd < end &- 1, octets[valueEnd] == .carriageReturn, octets[valueEnd &+ 1] == .lineFeed else {
      return nil
    }
    self.colon = colon
    self.valueEnd = valueEnd
    lineEnd = valueEnd &+ 2
  }
}

/// Iterates over the fields of a head after its first line. Lines without a name are skipped.
@usableFromInline
package struct FieldLines: Sequence, IteratorProtocol {
  @usableFromInline let head: UnsafeRawBufferPointer
  @usableFromInline var position = 0

  @inlinable
  package init(ofHead head: UnsafeRawBufferPointer) {
    self.head = head
    position = endOfLine
  }

  @inlinable
  package mutating func next() -> FieldLine? {
    while position < head.count {
      if let base = head.baseAddress, let field = UsualField(base, from: position, before: head.count) {
        defer { position = field.lineEnd }
        var line = FieldLine(
          name: position..<field.colon, value: head.trimmed(field.colon + 1..<field.valueEnd, of: { $0 == .space }))
        if line.value.lowerBound == field.colon + 2, line.value.upperBound == field.valueEnd {
          line.plain = position..<field.lineEnd
        }
        return line
      }
      let line = position..<endOfLine
      position = line.upperBound
      if let field = FieldLine(head, in: line) { return field }
    }
    return nil
  }

  /// The index after the line feed of the present line.
  @inlinable var endOfLine: Int {
    head.firstIndex(of: .lineFeed, in: position..<head.count).map { $0 + 1 } ?? head.count
  }
}
