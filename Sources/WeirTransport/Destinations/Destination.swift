import WeirIO

/// The scheme, host and port of a request's initial URL. Limits and metrics are kept per destination.
///
/// Comparison starts with identity, so that destinations serve as cheap keys. Hosts are in lower case, and an absent
/// port is the scheme's default (RFC 9110 section 4.2). All forms of an address are one host, and so is a name with and
/// without a final dot.
public struct Destination: Hashable, Sendable, CustomStringConvertible {
  private final class Storage: Sendable {
    let scheme: String
    let host: String
    let port: Int

    init(scheme: String, host: String, port: Int) {
      self.scheme = scheme
      self.host = host
      self.port = port
    }
  }

  private let storage: Storage

  /// Lower-cases scheme and host, and writes the host in canonical form: `127.1` as `127.0.0.1`, `[0::1]` as `::1`,
  /// `example.com.` as `example.com`.
  public init(scheme: String, host: String, port: Int) {
    storage = Storage(scheme: scheme.lowercased(), host: CanonicalHost(host).withoutFinalDot, port: port)
  }

  /// The scheme, in lower case.
  public var scheme: String { storage.scheme }
  /// A name or an address, in lower case. An IPv6 address has no brackets.
  public var host: String { storage.host }
  /// The port; the scheme's default where the URL had none.
  public var port: Int { storage.port }

  public var description: String { "\(scheme)://\(CanonicalHost(host).inURL):\(port)" }

  /// The identity of the object that copies of one value share. Equal values may have different identities.
  package var identity: ObjectIdentifier { ObjectIdentifier(storage) }

  /// The host and port without the scheme, as metrics are labelled.
  package struct Server: Hashable, Sendable {
    package let host: String
    package let port: Int
  }

  package var server: Server { Server(host: host, port: port) }

  package static func defaultPort(of scheme: String) -> Int {
    scheme == "https" ? 443 : 80
  }

  public static func == (left: Destination, right: Destination) -> Bool {
    left.storage === right.storage
      || (left.port == right.port && left.host == right.host && left.scheme == right.scheme)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(storage.host)
    hasher.combine(storage.port)
  }
}
