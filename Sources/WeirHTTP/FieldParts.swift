/// Tracks whether an octet is inside a quoted string (RFC 9110 §5.6.4).
@usableFromInline
struct Quotation {
  @usableFromInline var isInside = false
  @usableFromInline var isEscaped = false

  @inlinable init() {}

  @inlinable
  mutating func take(_ octet: UInt8) {
    if isEscaped {
      isEscaped = false
    } else if octet == .quotationMark {
      isInside.toggle()
    } else if isInside, octet == .backslash {
      isEscaped = true
    }
  }
}

/// The parts of a field's value between commas or semicolons, without the blanks around them (RFC 9110 §5.6.1, §5.6.6).
/// Empty parts, which mean nothing in most fields, are included. A value without a separator is one part.
@usableFromInline
package struct FieldParts: Sequence, IteratorProtocol {
  @usableFromInline let value: UnsafeRawBufferPointer
  @usableFromInline let separator: UInt8
  /// Whether separators inside quoted strings are ignored. A quoted string without an end extends to the end of the
  /// value.
  @usableFromInline let respectsQuotes: Bool
  /// The start of the next part; beyond the value's end when there is none.
  @usableFromInline var start = 0

  @inlinable
  package init(_ value: UnsafeRawBufferPointer, separator: UInt8, respectsQuotes: Bool) {
    self.value = value
    self.separator = separator
    self.respectsQuotes = respectsQuotes
  }

  @inlinable
  package mutating func next() -> UnsafeRawBufferPointer? {
    guard start <= value.count else { return nil }
    let part = start..<endOfPart
    start = part.upperBound + 1
    return value.octets(value.trimmed(part))
  }

  @inlinable var endOfPart: Int {
    guard respectsQuotes else { return value.firstIndex(of: separator, in: start..<value.count) ?? value.count }
    var quotation = Quotation()
    for index in start..<value.count {
      if value[index] == separator, !quotation.isInside { return index }
      quotation.take(value[index])
    }
    return value.count
  }
}

extension UnsafeRawBufferPointer {
  /// The elements of a list of tokens or numbers. Every comma separates, so that no quotation mark can hide an element.
  @inlinable
  package var listElements: FieldParts { FieldParts(self, separator: .comma, respectsQuotes: false) }

  /// The elements of a list that may contain quoted strings.
  @inlinable
  package var quotedListElements: FieldParts { FieldParts(self, separator: .comma, respectsQuotes: true) }

  /// An element's main part, followed by its parameters.
  @inlinable
  package var parameterParts: FieldParts { FieldParts(self, separator: .semicolon, respectsQuotes: true) }

  /// Whether every quoted string in the value has an end.
  package var hasWholeQuotations: Bool {
    var quotation = Quotation()
    for octet in self { quotation.take(octet) }
    return !quotation.isInside
  }

  /// The text of a quoted string, without quotes and escapes; nil unless the octets are exactly one quoted string.
  package var unquoted: [UInt8]? {
    guard first == .quotationMark else { return nil }
    var text: [UInt8] = []
    var quotation = Quotation()
    for (index, octet) in enumerated() {
      let isEscaped = quotation.isEscaped
      quotation.take(octet)
      if !quotation.isInside { return index == count - 1 ? text : nil }
      if index > 0, !quotation.isEscaped || isEscaped { text.append(octet) }
    }
    return nil
  }
}
