import WeirHTTP

/// A Set-Cookie field, parsed from its octets as RFC 6265 §5.2 demands. Foundation's parser is not used: it splits
/// fields at commas and accepts fields that must be ignored.
struct SetCookie: Hashable, Sendable {
  var name: String
  var value: String
  /// Seconds since 1970.
  var expires: Double?
  /// Seconds from now; takes precedence over ``expires``.
  var maxAge: Double?
  /// In lower case and without the leading dot; nil if the field has no domain.
  var domain: String?
  /// Nil means the default path.
  var path: String?
  var isSecure = false
  var isHTTPOnly = false

  /// Longer attributes are ignored.
  private static let maximumAttribute = 1024

  /// Nil if the field sets no cookie: it has no name, is longer than a cookie may be, holds control characters, or is
  /// not UTF-8. Other octets could not be sent back as they came.
  init?(_ field: UnsafeRawBufferPointer) {
    guard !field.contains(where: { $0 < 0x20 && $0 != .tab || $0 == 0x7F }) else { return nil }
    let pairEnd = field.firstIndex(of: .semicolon) ?? field.count
    let pair = field.octets(0..<pairEnd)
    guard let equals = pair.firstIndex(of: .equalsSign) else { return nil }
    let name = pair.octets(0..<equals).trimmed
    let value = pair.octets(equals + 1..<pair.count).trimmed
    guard !name.isEmpty, name.count + value.count <= CookieJar.maximumSize, let name = Self.text(name),
      let value = Self.text(value)
    else { return nil }
    (self.name, self.value) = (name, value)
    guard pairEnd < field.count else { return }
    // The field has no quoted strings: each semicolon separates attributes.
    for attribute in FieldParts(field.octets(pairEnd + 1..<field.count), separator: .semicolon, respectsQuotes: false) {
      take(attribute)
    }
  }

  /// The last valid attribute of a kind counts.
  private mutating func take(_ attribute: UnsafeRawBufferPointer) {
    let equals = attribute.firstIndex(of: .equalsSign) ?? attribute.count
    let name = attribute.octets(0..<equals).trimmed
    let value = attribute.octets(min(equals + 1, attribute.count)..<attribute.count).trimmed
    guard value.count <= Self.maximumAttribute else { return }
    if name.spells("expires") {
      expires = CookieDate.parse(value).map(Double.init) ?? expires
    } else if name.spells("max-age") {
      maxAge = Self.delta(value) ?? maxAge
    } else if name.spells("domain") {
      if !value.isEmpty { domain = Self.domain(value) }
    } else if name.spells("path") {
      path = value.first == .slash ? Self.text(value) : nil
    } else if name.spells("secure") {
      isSecure = true
    } else if name.spells("httponly") {
      isHTTPOnly = true
    }
  }

  private static func domain(_ value: UnsafeRawBufferPointer) -> String? {
    let rest = value.first == UInt8(ascii: ".") ? value.octets(1..<value.count) : value
    return rest.isEmpty ? nil : FieldSyntax.lowercased(rest)
  }

  /// Digits, optionally after a minus sign (§5.2.2). A value that is too large is cut to the greatest that can be
  /// represented.
  private static func delta(_ value: UnsafeRawBufferPointer) -> Double? {
    if value.first == UInt8(ascii: "-") { return value.octets(1..<value.count).decimal.map { -Double($0) } }
    return value.decimal.map(Double.init)
  }

  private static func text(_ octets: UnsafeRawBufferPointer) -> String? {
    String(validating: octets.bindMemory(to: UInt8.self), as: UTF8.self)
  }
}
