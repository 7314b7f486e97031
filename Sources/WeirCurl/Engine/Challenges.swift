import WeirHTTP

/// Recognizes challenges and credentials by their scheme (RFC 9110 §11.3).
enum Challenges {
  /// The schemes whose challenges libcurl answers for a proxy's credential.
  static let answerable: [StaticString] = ["basic", "digest"]

  /// Whether the value, credentials or a challenge, begins with one of these schemes.
  static func begins(_ value: UnsafeRawBufferPointer, with schemes: [StaticString]) -> Bool {
    schemes.contains { scheme in
      let count = scheme.utf8CodeUnitCount
      return value.begins(with: scheme) && (value.count == count || value[count].isBlank)
    }
  }

  /// Whether a field of this name in a response's head has a challenge of one of these schemes.
  ///
  /// Commas separate both challenges and their parameters (§11.6.1). No parameter begins like a challenge.
  static func are(of schemes: [StaticString], in head: [UInt8], field name: StaticString) -> Bool {
    head.withUnsafeBytes { head in
      FieldLines(ofHead: head).contains { field in
        head.octets(field.name).spells(name)
          && head.octets(field.value).quotedListElements.contains { begins($0, with: schemes) }
      }
    }
  }
}

/// Schemes that authenticate a connection instead of a request (RFC 4559 §6; NTLM): the server takes every later
/// request on the connection for the same user's. A client that sends requests of several users must not use such a
/// connection again.
package enum ConnectionAuthentication {
  private static let schemes: [StaticString] = ["ntlm", "negotiate"]

  /// Whether credentials use such a scheme.
  static func begins(_ value: UnsafeRawBufferPointer) -> Bool { Challenges.begins(value, with: schemes) }

  /// Whether a response's head asks for such a scheme.
  package static func isAskedFor(in head: [UInt8]) -> Bool {
    Challenges.are(of: schemes, in: head, field: "www-authenticate")
  }
}
