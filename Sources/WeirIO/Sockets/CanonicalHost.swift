/// The host of a URL in canonical form, by which hosts are compared, counted and shown.
///
/// Addresses are written as inet_ntop(3) writes them, whatever form the URL has: `127.1`, `0x7f.1` and `2130706433` are
/// `127.0.0.1`. Names are in lower case (RFC 9110 §4.2.3).
package struct CanonicalHost: Hashable, Sendable {
  /// A name, with the dot that may end it, or an address. An IPv6 address has no brackets and keeps its zone.
  package let text: String

  package init(_ host: some StringProtocol) {
    if Self.mayBeAddress(host), let address = IPAddress(host: host) {
      text = "\(address)\(Self.zone(of: host))"
    } else {
      text = String(decoding: host.utf8.lazy.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
  }

  /// The text without the dot that ends a fully qualified name: limits and metrics treat both forms as one host. A server
  /// may see the dot in Host, and the resolver uses no search list with it.
  package var withoutFinalDot: String {
    text.utf8.count > 1 && text.utf8.last == 0x2E ? String(text.dropLast()) : text
  }

  /// As it stands in a URL and in the Host field: an IPv6 address in brackets, its zone after `%25` (RFC 6874 §2).
  package var inURL: String {
    guard text.utf8.contains(0x3A), text.utf8.first != 0x5B else { return text }
    guard let percent = text.firstIndex(of: "%") else { return "[\(text)]" }
    return "[\(text[..<percent])%25\(text[percent...].dropFirst())]"
  }

  /// Whether what is sent there stays on this machine: 127.0.0.0/8, `::1` and `localhost`.
  package var isLoopback: Bool {
    switch IPAddress(host: text) {
    case .v4(let number)?: number >> 24 == 127
    case .v6(let high, let low)?: high == 0 && low == 1
    case nil: withoutFinalDot == "localhost"
    }
  }

  /// A quick answer for most names: no. Every form of IPv4 begins with a digit, and IPv6 has a colon.
  private static func mayBeAddress(_ host: some StringProtocol) -> Bool {
    guard let first = host.utf8.first else { return false }
    return first &- 0x30 < 10 || host.utf8.contains(0x3A)
  }

  /// `%` and the zone of an IPv6 address; empty without one. In a URL, which has brackets, it stands after `%25`.
  private static func zone(of host: some StringProtocol) -> String {
    guard let percent = host.firstIndex(of: "%") else { return "" }
    var zone = host[percent...].dropFirst()
    if zone.last == "]" {
      zone = zone.dropLast()
      if zone.hasPrefix("25"), zone.utf8.count > 2 { zone = zone.dropFirst(2) }
    }
    return "%\(zone)"
  }
}
