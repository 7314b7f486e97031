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

/// The content codings that a client accepts, as its Accept-Encoding field says (RFC 9110 §12.5.3).
package struct AcceptedCodings: Sendable {
  private let codings: [Preference]
  private let any: Quality?

  /// - Parameter field: The value of the field. Nil, for a missing one, names no coding: only a client that names a
  ///   coding is sure to read it.
  package init(_ field: String?) {
    codings = field.map { Preference.list($0) } ?? []
    any = codings.quality(of: "*")
  }

  /// The weight of gzip, 0 if the client doesn't accept it.
  package var gzip: Quality { codings.quality(of: "gzip") ?? codings.quality(of: "x-gzip") ?? any ?? .none }

  /// The weight of deflate, 0 if the client doesn't accept it.
  package var deflate: Quality { codings.quality(of: "deflate") ?? any ?? .none }

  /// The weight of a body without a coding; nil if the field says nothing about it, which makes it acceptable.
  package var identity: Quality? { codings.quality(of: "identity") ?? any }

  /// Whether the client accepts gzip, and does not prefer a body without a coding.
  package var prefersGzip: Bool { gzip > .none && gzip >= identity ?? .none }
}

extension [Preference] {
  /// The weight given to a coding; if there are several, the greatest.
  fileprivate func quality(of coding: String) -> Quality? {
    lazy.filter { $0.name == coding }.map(\.quality).max()
  }
}

/// The urgency of a request (`u` of the field Priority, RFC 9218 §4.1): 0 to 7, the lower the sooner.
package enum Urgency {
  /// The urgency of a request that names none.
  package static let standard = 3

  /// The urgency in the value of a field; nil if it names none. Of several, the last one counts (RFC 8941 §3.2). An
  /// urgency that is not a number, or out of the range, counts as the standard (RFC 9218 §4).
  package static func parse(_ value: UnsafeRawBufferPointer) -> Int? {
    value.quotedListElements.reduce(nil as Int?) { found, member in
      guard member.first == UInt8(ascii: "u"), member.count == 1 || !isKey(member[1]) else { return found }
      let hasEnd = member.count == 3 || member.count > 3 && (member[3] == .semicolon || member[3].isBlank)
      guard hasEnd, member[1] == .equalsSign, (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(member[2]) else {
        return standard
      }
      return Int(member[2] - UInt8(ascii: "0"))
    }
  }

  /// Whether the octet can continue a key (RFC 8941 §3.1.2).
  private static func isKey(_ octet: UInt8) -> Bool { octet != .equalsSign && octet != .semicolon && !octet.isBlank }
}
