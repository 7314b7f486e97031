/// One element of a field that states a client's preferences: `text/plain;version=0.0.4;q=0.5` in Accept, `gzip` in
/// Accept-Encoding. All text is in lower case.
package struct Preference: Hashable, Sendable {
  package struct Parameter: Hashable, Sendable {
    package let name: String
    package let value: String
  }

  /// A token, or two with a slash between them; `*` matches anything.
  package let name: String
  package let parameters: [Parameter]
  package let quality: Quality
}

extension Preference {
  /// The elements of a field's value in their order. An element that breaks the grammar is left out, as using half of
  /// it would be a guess.
  package static func list(_ field: String) -> [Preference] {
    field.withOctets { $0.quotedListElements.compactMap { Preference($0) } }
  }

  private init?(_ element: UnsafeRawBufferPointer) {
    var parts = element.parameterParts
    guard let range = parts.next(), Self.isName(range) else { return nil }
    var parameters: [Parameter] = []
    var quality = Quality.full
    // Empty parameters are allowed (§5.6.6).
    for part in parts where !part.isEmpty {
      guard let parameter = Parameter(part) else { return nil }
      if parameter.name == "q" {
        // The weight counts at any position (§12.5.1).
        guard let weight = Quality(parameter.value.utf8) else { return nil }
        quality = weight
      } else {
        parameters.append(parameter)
      }
    }
    self.init(name: FieldSyntax.lowercased(range), parameters: parameters, quality: quality)
  }

  private static func isName(_ range: UnsafeRawBufferPointer) -> Bool {
    guard let slash = range.firstIndex(of: .slash) else { return FieldSyntax.isToken(range) }
    return FieldSyntax.isToken(range[..<slash]) && FieldSyntax.isToken(range[(slash + 1)...])
  }
}

extension Preference.Parameter {
  /// A parameter `name=value` without blanks around the sign. Its value is a token or a quoted string.
  fileprivate init?(_ part: UnsafeRawBufferPointer) {
    guard let sign = part.firstIndex(of: .equalsSign), FieldSyntax.isToken(part[..<sign]) else { return nil }
    let value = part.octets(sign + 1..<part.count)
    name = FieldSyntax.lowercased(part.octets(0..<sign))
    if FieldSyntax.isToken(value) {
      self.value = FieldSyntax.lowercased(value)
    } else {
      guard let text = value.unquoted else { return nil }
      self.value = text.withUnsafeBytes { FieldSyntax.lowercased($0) }
    }
  }
}

/// The weight of a preference in thousandths; 0 means that it is not acceptable (RFC 9110 §12.4.2).
package struct Quality: Hashable, Comparable, Sendable {
  package let thousandths: Int

  package static let full = Quality(thousandths: 1000)
  package static let none = Quality(thousandths: 0)

  package static func < (left: Quality, right: Quality) -> Bool {
    left.thousandths < right.thousandths
  }
}

extension Quality {
  /// Reads `0`, `0.5`, `1.000`; nil for anything else.
  ///
  /// Digits beyond the third, which the RFC doesn't allow but clients send, are cut off. A weight above 0 stays above
  /// 0: otherwise "hardly" would become "never".
  package init?(_ text: some Sequence<UInt8>) {
    var digits = text.makeIterator()
    guard let whole = digits.next(), whole == UInt8(ascii: "0") || whole == UInt8(ascii: "1") else { return nil }
    var value = whole == UInt8(ascii: "1") ? 1000 : 0
    var weight = 100
    var cutOff = false
    if let point = digits.next() {
      guard point == UInt8(ascii: ".") else { return nil }
      while let digit = digits.next() {
        guard digit.isDigit else { return nil }
        let number = Int(digit & 15)
        value += number * weight
        if weight == 0 && number > 0 { cutOff = true }
        weight /= 10
      }
    }
    guard value <= 1000, !(value == 1000 && cutOff) else { return nil }
    self.init(thousandths: value == 0 && cutOff ? 1 : value)
  }
}
