import WeirHTTP
import WeirIO

/// The hosts of routes.
enum RouteHost {
  /// The reason why the text is not a host, with or without a wildcard; nil if it is one.
  static func problem(_ text: String) -> String? {
    if text == "*" { return "leave host out to match every host" }
    guard text.contains("*") else { return problem(ofName: text) }
    let name = String(text.dropFirst(2))
    guard text.hasPrefix("*."), !name.contains("*"), !isIPv6Address(name) else {
      return "must have its wildcard in front of a name, such as *.example.com"
    }
    return problem(ofName: name)
  }

  /// The reason why the text is not a host; nil if it is one.
  static func problem(ofName text: String) -> String? {
    if isIPv6Address(text) { return nil }
    if text.contains(":") { return "must be a host name without port and path, such as api.example.com" }
    return HostSyntax.isName(text.utf8) ? nil : "\(quoted(text)) is not a host name"
  }

  /// Whether the text is an IPv6 address, in brackets or without: there is no port from which they would tell it apart.
  private static func isIPv6Address(_ text: String) -> Bool {
    let hasBrackets = text.hasPrefix("[") && text.hasSuffix("]")
    return Upstream.isIPv6Address(hasBrackets ? text.dropFirst().dropLast() : text[...])
  }

  /// The host in canonical form, without the dot of a fully qualified name; an IPv6 address is in brackets.
  static func normalized(_ text: String) -> String {
    CanonicalHost(CanonicalHost(text).withoutFinalDot).inURL
  }

  /// The labels behind `*.`; nil for a host without a wildcard.
  static func suffix(_ host: String) -> Substring? { host.hasPrefix("*.") ? host.dropFirst(2) : nil }
}
