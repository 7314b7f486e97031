import WeirHTTP

/// Schemes that authenticate a connection instead of a request (RFC 4559 §6; NTLM): the server takes every later
/// request on the connection for the same user's. A client that sends requests of several users must not use such a
/// connection again.
package enum ConnectionAuthentication {
  private static let schemes: [StaticString] = ["ntlm", "negotiate"]

  /// Whether the value, credentials or a challenge (RFC 9110 §11.3), begins with such a scheme.
  static func begins(_ value: UnsafeRawBufferPointer) -> Bool {
    schemes.contains { scheme in
      let count = scheme.utf8CodeUnitCount
      return value.begins(with: scheme) && (value.count == count || value[count].isBlank)
    }
  }

  /// Whether a response's head asks for such a scheme.
  ///
  /// Commas separate both challenges and their parameters (§11.6.1). No parameter begins like a challenge.
  package static func isAskedFor(in head: [UInt8]) -> Bool {
    head.withUnsafeBytes { head in
      FieldLines(ofHead: head).contains { field in
        head.octets(field.name).spells("www-authenticate")
          && head.octets(field.value).quotedListElements.contains(where: begins)
      }
    }
  }
}
