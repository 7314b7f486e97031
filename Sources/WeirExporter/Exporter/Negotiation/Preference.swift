/// One element of a field by which a client says what it prefers: `text/plain;version=0.0.4;q=0.5` of Accept, `gzip` of
/// Accept-Encoding. All text is in lower case.
package struct Preference: Hashable, Sendable {
  package struct Parameter: Hashable, Sendable {
    package let name: String
    package let value: String
  }

  /// A token, or two with a slash between them; `*` stands for any.
  package let name: String
  package let parameters: [Parameter]
  package let quality: Quality
}

extension Preference {
  /// The elements of a field's value in their order. An element that breaks the grammar is left out: to honour half of
  /// it would be a guess.
  package static func list(_ field: String) -> [Preference] {
    var scanner = FieldScanner(field)
    var elements: [Preference] = []
    while true {
      scanner.skipBlanks()
      if scanner.take(",") { continue }
      if scanner.isAtEnd { return elements }
      let element = Preference(&scanner)
      scanner.skipBlanks()
      if let element, scanner.isAtEnd || scanner.take(",") {
        elements.append(element)
      } else {
        scanner.skipElement()
      }
    }
  }

  private init?(_ scanner: inout FieldScanner) {
    guard var name = scanner.token() else { return nil }
    if scanner.take("/") {
      guard let subtype = scanner.token() else { return nil }
      name += "/" + subtype
    }
    var parameters: [Parameter] = []
    var quality = Quality.full
    while Self.takesSemicolon(&scanner) {
      // Empty parameters are allowed (§5.6.6).
      guard let parameterName = scanner.token() else { continue }
      guard scanner.take("=") else { return nil }
      guard let value = scanner.token() ?? scanner.quotedString() else { return nil }
      if parameterName == "q" {
        // The weight, wherever it stands (§12.5.1).
        guard let weight = Quality(value.utf8) else { return nil }
        quality = weight
      } else {
        parameters.append(Parameter(name: parameterName, value: value))
      }
    }
    self.init(name: name, parameters: parameters, quality: quality)
  }

  private static func takesSemicolon(_ scanner: inout FieldScanner) -> Bool {
    scanner.skipBlanks()
    guard scanner.take(";") else { return false }
    scanner.skipBlanks()
    return true
  }
}
