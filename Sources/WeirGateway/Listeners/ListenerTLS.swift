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

  var certificates: [Pair] = []
  var clientCA: String?
  var ticketKeys: String?
  /// The settings without what the files hold.
  var rules = TLSSettings(certificates: [])
  var forward = Forwarding()

  /// The files: each certificate and its key, then the authorities and the ticket keys, if there are.
  var files: TLSFiles {
    let pairs = certificates.count
    let (hasAuthorities, hasTickets) = (clientCA != nil, ticketKeys != nil)
    return TLSFiles(
      certificates.flatMap { [$0.certificate, $0.key] } + [clientCA, ticketKeys].compactMap(\.self),
      place: { part in
        switch part {
        case .chain(let index): 2 * index
        case .key(let index): 2 * index + 1
        case .clientCA: 2 * pairs
        case .ticketKeys: 2 * pairs + (hasAuthorities ? 1 : 0)
        case .other: nil
        }
      },
      make: { [rules] bytes in
        var settings = rules
        settings.certificates = (0..<pairs).map { TLSCertificate(chain: bytes[2 * $0], key: bytes[2 * $0 + 1]) }
        settings.clientCA = hasAuthorities ? bytes[2 * pairs] : nil
        settings.ticketKeys = hasTickets ? bytes.last.map(Self.keys) : nil
        return settings
      })
  }

  /// The keys of a file that holds them one after the other. What is left at the end is a key that is too short.
  private static func keys(in bytes: [UInt8]) -> [[UInt8]] {
    stride(from: 0, to: bytes.count, by: TLSSettings.ticketKeyLength).map {
      Array(bytes[$0..<min(bytes.count, $0 + TLSSettings.ticketKeyLength)])
    }
  }
}
