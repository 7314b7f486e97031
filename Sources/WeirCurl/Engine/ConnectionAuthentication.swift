import WeirHTTP

/// Schemes that authenticate a connection instead of a request (RFC 4559 §6; NTLM): all that follows on it is taken for
/// the same user's. Who sends several users' requests must not use such a connection again.
enum ConnectionAuthentication {
  private static let schemes: [StaticString] = ["ntlm", "negotiate"]

  /// Whether credentials, or a challenge, are of such a scheme.
  static func begins(_ value: UnsafeRawBufferPointer) -> Bool {
    schemes.contains { scheme in
      let count = scheme.utf8CodeUnitCount
      return value.begins(with: scheme) && (value.count == count || value[count].isBlank)
    }
  }

  /// Whether a response's head asks for such a scheme.
  ///
  /// Challenges and their parameters are both divided by commas (RFC 9110 §11.6.1), and none of the latter begins as one
  /// of the former does.
  static func isAskedFor(in head: [UInt8]) -> Bool {
    head.withUnsafeBytes { head in
      FieldLines(ofHead: head).contains { field in
        head.octets(field.name).spells("www-authenticate")
          && head.octets(field.value).quotedListElements.contains(where: begins)
      }
    }
  }
}
