import WeirHTTP

/// The directives of a Cache-Control field that weir goes by (RFC 9111 §5.2).
struct CacheControl: Hashable, Sendable {
  var isNoStore = false
  /// With field names, too: they are not told apart.
  var isNoCache = false
  /// Seconds; of several the least, and 0 where one can't be read (§4.2.1).
  var maxAge: Double?

  init(_ field: String?) {
    field?.withOctets { octets in
      // A quotation mark alone hides no directive.
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

  /// A quoted number is one too (§5.2).
  private static func seconds(_ argument: UnsafeRawBufferPointer) -> Double {
    if let text = argument.unquoted { return text.withUnsafeBytes { $0.decimal.map(Double.init) ?? 0 } }
    return argument.decimal.map(Double.init) ?? 0
  }
}
