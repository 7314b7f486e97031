import WeirHTTP

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
