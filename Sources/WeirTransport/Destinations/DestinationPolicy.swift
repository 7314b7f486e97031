package import WeirCurl
import WeirIO

/// Which addresses a session connects to: a guard for services that request URLs which somebody else chose (server-side
/// request forgery).
///
/// What counts is the address for which a socket is opened, whatever the URL or a name server says, for each hop of a
/// redirect and each attempt. A literal address in a URL is refused before anything is connected, in all spellings that
/// resolvers take. IPv4-mapped addresses (RFC 4291 section 2.5.5.2) and those of NAT64 (RFC 6052) are judged as the IPv4
/// addresses that they stand for; `0.0.0.0` and `::`, which Linux connects to the loopback, also as `127.0.0.1` and `::1`. Of a
/// name's addresses the refused ones are passed over; if none is left, the request fails with
/// `URLError(.cannotConnectToHost)`, whose text says why (``WeirError/isDestinationRefused``). No ``RetryPolicy`` retries that.
///
/// - A proxy's own address is exempt, and what it connects to can't be seen: only literal addresses in URLs are judged, and
///   names are the proxy's to judge. With ``ProxyConfiguration/environment`` it can't be told whether a proxy stands
///   between, so its address is judged too.
/// - With ``SessionConfiguration/unixSocketPath`` nothing is judged: no URL decides what is connected to.
public struct DestinationPolicy: Sendable, Hashable {
  /// What becomes of addresses in none of the networks that are named.
  public enum Otherwise: Sendable, Hashable {
    /// They are connected to.
    case allowed
    /// The public ones are connected to, as ``DestinationPolicy/publicOnly`` has it.
    case publicOnly
    /// They are not.
    case refused
  }

  /// Nil: any address.
  package let rules: AddressPolicy?

  /// All addresses; the default.
  public static let any = DestinationPolicy(nil)

  /// Addresses of the public internet: none that IANA's special-purpose registries (RFC 6890) list as not globally
  /// reachable (loopback, private, link-local with the metadata services of clouds, carriers' shared, documentation,
  /// benchmarking, unique local and so on), no multicast, broadcast and reserved ones, nor 6to4 and Teredo.
  public static let publicOnly = DestinationPolicy(AddressPolicy(otherwise: .publicOnly))

  /// An address in a network of `deny` is refused, else one in a network of `allow` is connected to; `otherwise` decides
  /// about all others.
  ///
  /// - `allow`: Networks as `10.1.0.0/16`, `2001:db8::/32`, or single addresses.
  /// - `deny`: The same; they go before `allow`.
  /// - Throws: ``InvalidNetwork`` for a text that is none.
  public init(
    allow: [String] = [], deny: [String] = [], otherwise: Otherwise
  ) throws(InvalidNetwork) {
    rules = AddressPolicy(
      allow: try Self.networks(allow), deny: try Self.networks(deny), otherwise: .init(otherwise))
  }

  private init(_ rules: AddressPolicy?) {
    self.rules = rules
  }

  /// Why a URL's host is refused before any name is looked up; nil if it isn't.
  package func refusal(ofHost host: String) -> String? {
    rules?.refusal(ofHost: host)
  }

  private static func networks(_ texts: [String]) throws(InvalidNetwork) -> [IPNetwork] {
    var networks: [IPNetwork] = []
    for text in texts {
      do {
        networks.append(try IPNetwork(parsing: text))
      } catch {
        throw InvalidNetwork(description: error.description)
      }
    }
    return networks
  }

  /// A text that is no network; the description says what is wrong with it.
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
