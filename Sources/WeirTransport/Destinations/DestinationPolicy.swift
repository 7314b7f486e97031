package import WeirCurl
import WeirIO

/// The addresses that a session may connect to: a guard for services that request URLs chosen by others (server-side
/// request forgery).
///
/// The policy judges the address for which a socket is opened, whatever the URL or a name server says, for each hop of
/// a redirect and each attempt. A literal address in a URL is refused before anything is connected, in all spellings
/// that resolvers take. IPv4-mapped addresses (RFC 4291 section 2.5.5.2) and those of NAT64 (RFC 6052) are judged as
/// the IPv4 addresses that they stand for. `0.0.0.0` and `::`, which Linux connects to the loopback, are also judged as
/// `127.0.0.1` and `::1`. Refused addresses of a name are skipped; if none is left, the request fails with
/// `URLError(.cannotConnectToHost)`, whose text says why (``WeirError/isDestinationRefused``). No ``RetryPolicy``
/// retries that.
///
/// - A proxy's own address is exempt. The addresses that a proxy connects to are unknown here: only literal addresses
///   in URLs are judged, and names are the proxy's to judge. A SOCKS proxy that gets addresses
///   (``ProxyConfiguration/socks5WithLocalLookup(host:port:credential:)``) gets only those that are allowed.
/// - With ``SessionConfiguration/unixSocketPath`` nothing is judged, as no URL decides on the connection.
public struct DestinationPolicy: Sendable, Hashable {
  /// The decision on addresses in none of the listed networks.
  public enum Otherwise: Sendable, Hashable {
    /// All of them are allowed.
    case allowed
    /// The public ones are allowed, as in ``DestinationPolicy/publicOnly``.
    case publicOnly
    /// All of them are refused.
    case refused
  }

  /// Nil means any address.
  package let rules: AddressPolicy?

  /// All addresses; the default.
  public static let any = DestinationPolicy(nil)

  /// Addresses of the public internet. Excluded are those that IANA's special-purpose registries (RFC 6890) list as not
  /// globally reachable: loopback, private, link-local with the metadata services of clouds, carriers' shared,
  /// documentation, benchmarking, unique local and so on. Multicast, broadcast and reserved addresses, 6to4 and Teredo
  /// are excluded too.
  public static let publicOnly = DestinationPolicy(AddressPolicy(otherwise: .publicOnly))

  /// Refuses addresses in a network of `deny`, then allows those in a network of `allow`; `otherwise` decides on all
  /// others.
  ///
  /// - `allow`: Networks such as `10.1.0.0/16` and `2001:db8::/32`, or single addresses.
  /// - `deny`: The same; they take precedence over `allow`.
  /// - Throws: ``InvalidNetwork`` for a text that is not a network.
  public init(
    allow: [String] = [], deny: [String] = [], otherwise: Otherwise
  ) throws(InvalidNetwork) {
    rules = AddressPolicy(
      allow: try Self.networks(allow), deny: try Self.networks(deny), otherwise: .init(otherwise))
  }

  private init(_ rules: AddressPolicy?) {
    self.rules = rules
  }

  /// Why a URL's host is refused before any lookup of its name; nil if it is not refused.
  package func refusal(ofHost host: String) -> String? {
    rules?.refusal(ofHost: host)
  }

  private static func networks(_ texts: [String]) throws(InvalidNetwork) -> [IPNetwork] {
    do {
      return try texts.map { text throws(IPNetworkError) in try IPNetwork(parsing: text) }
    } catch {
      throw InvalidNetwork(description: error.description)
    }
  }

  /// A text that is not a network; the description says what is wrong with it.
  public struct InvalidNetwork: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
  }
}

extension AddressPolicy.Otherwise {
  fileprivate init(_ otherwise: DestinationPolicy.Otherwise) {
    self =
      switch otherwise {
      case .allowed: .allowed
      case .publicOnly: .publicOnly
      case .refused: .refused
      }
  }
}
