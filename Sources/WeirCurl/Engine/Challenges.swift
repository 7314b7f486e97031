import WeirHTTP

/// Challenges, and credentials, of certain schemes (RFC 9110 §11.3).
enum Challenges {
  /// Those that are answered.
  static let answerable: [StaticString] = ["basic", "digest"]

  /// Whether credentials, or a challenge, are of one of these schemes.
  static func begins(_ value: UnsafeRawBufferPointer, with schemes: [StaticString]) -> Bool {
    schemes.contains { scheme in
      let count = scheme.utf8CodeUnitCount
      return value.begins(with: scheme) && (value.count == count || value[count].isBlank)
    }
  }

  /// Whether a response's head has a challenge of one of these schemes in such a field.
  ///
  /// Challenges and their parameters are both divided by commas (§11.6.1), and none of the latter begins as one of the
  /// former does.
  static func are(of schemes: [StaticString], in head: [UInt8], field name: StaticString) -> Bool {
    head.withUnsafeBytes { head in
      FieldLines(ofHead: head).contains { field in
        head.octets(field.name).spells(name)
          && head.octets(field.value).quotedListElements.contains { begins($0, with: schemes) }
      }
    }
  }
}
