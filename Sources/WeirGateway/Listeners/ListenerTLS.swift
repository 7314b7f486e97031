import WeirTLS

/// The TLS of a listener as a configuration has it. A value.
struct ListenerTLS: Sendable, Equatable {
  /// The fields in which upstreams are told of a client's certificate; nil for those that are not sent.
  struct Forwarding: Sendable, Equatable {
    /// Takes the subject in the notation of RFC 2253.
    var subject: String?
    /// Takes the certificate as `Client-Cert` has it (RFC 9440).
    var certificate: String?

    var names: [String] { [subject, certificate].compactMap(\.self) }
  }

  var files = TLSFiles()
  var forward = Forwarding()
}
