import WeirTLS

/// The TLS of a listener as a configuration has it. A value.
struct ListenerTLS: Sendable, Equatable {
  /// A certificate with its key, by the paths of their files.
  struct Pair: Sendable, Equatable {
    var certificate: String
    var key: String
  }

  /// The fields in which upstreams are told of a client's certificate; nil for those that are not sent.
  struct Forwarding: Sendable, Equatable {
    /// Takes the subject in the notation of RFC 2253.
    var subject: String?
    /// Takes the certificate as `Client-Cert` has it (RFC 9440).
    var certificate: String?

    var names: [String] { [subject, certificate].compactMap(\.self) }
  }

  var certificates: [Pair]
  var clientCA: String?
  var ticketKeys: String?
  /// The rules of the configuration, without the contents of the files.
  var minimumVersion = TLSSettings.Version.v1_2
  var strictNames = false
  var clientAuth = TLSSettings.ClientAuth.required
  var forward = Forwarding()

  /// All files, each once.
  var files: [String] {
    var seen: Set<String> = []
    return (certificates.flatMap { [$0.certificate, $0.key] } + [clientCA, ticketKeys].compactMap(\.self))
      .filter { seen.insert($0).inserted }
  }

  /// The settings with the contents of the files, which `bytes` returns.
  func settings<Failure: Error>(_ bytes: (String) throws(Failure) -> [UInt8]) throws(Failure) -> TLSSettings {
    var pairs: [TLSCertificate] = []
    for pair in certificates {
      pairs.append(TLSCertificate(chain: try bytes(pair.certificate), key: try bytes(pair.key)))
    }
    var settings = TLSSettings(
      certificates: pairs, minimumVersion: minimumVersion, strictNames: strictNames, clientAuth: clientAuth)
    if let clientCA { settings.clientCA = try bytes(clientCA) }
    if let ticketKeys { settings.ticketKeys = Self.keys(in: try bytes(ticketKeys)) }
    return settings
  }

  /// The keys of a file that holds them one after the other. What is left at the end is a key that is too short.
  static func keys(in bytes: [UInt8]) -> [[UInt8]] {
    stride(from: 0, to: bytes.count, by: TLSSettings.ticketKeyLength).map {
      Array(bytes[$0..<min(bytes.count, $0 + TLSSettings.ticketKeyLength)])
    }
  }
}
