import WeirHTTP

/// The directives of a Cache-Control field that weir obeys (RFC 9111 §5.2).
struct CacheControl: Hashable, Sendable {
  var isNoStore = false
  /// Also true for `no-cache` with field names, which is not told apart.
  var isNoCache = false
  /// Seconds; the least of several, and 0 if one can't be parsed (§4.2.1).
  var maxAge: Double?

  init(_ field: String?) {
    field?.withOctets { octets in
      // An unclosed quotation mark must not hide directives.
      let directives = octets.hasWholeQuotations ? octets.quotedListElements : octets.listElements
      for directive in directives { take(directive) }
    }
  }

  private mutating func take(_ directive: UnsafeRawBufferPointer) {
    let equals = directive.firstIndex(of: .equalsSign) ?? directive.count
    let name = directive.octets(0..<equals).trimmed
    let argument = directive.octets(min(equals + 1, directive.count)..<directive.count).trimmed
    if name.spells("no-store") {
      isNoStore = true
    } else if name.spells("no-cache") {
      isNoCache = true
    } else if name.spells("max-age") {
      maxAge = min(maxAge ?? .infinity, Self.seconds(argument))
    }
  }

  /// A quoted number is a number too (§5.2).
  private static func seconds(_ argument: UnsafeRawBufferPointer) -> Double {
    if let text = argument.unquoted { return text.withUnsafeBytes { $0.decimal.map(Double.init) ?? 0 } }
    return argument.decimal.map(Double.init) ?? 0
  }
}
