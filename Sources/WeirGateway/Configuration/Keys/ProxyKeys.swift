import Weir
import WeirCurl

// The way to upstreams and token services. No problem repeats a URL, as one with a password may be in its place.

extension ProxySettings {
  /// A URL, a mapping of one with what the proxy gets, or one of two words.
  static let form = ConfigurationForm<ProxySettings>(
    .either([.named("URL", .text(pattern)), mapping.shape, .words(["environment"]), .off]),
    text: { $0 == .off ? "off" : nil }
  ) { reader in
    if case .mapping = reader.node.content { return mapping.read(reader) }
    return reader.parse { text -> ProxySettings in
      switch text {
      case "off": .off
      case "environment": .environment(reader.findings.environment)
      case _ where text.contains("://"): .proxy(try Proxy(parsing: text))
      default: throw UpstreamProblem(choices)
      }
    }
  }.refusing { if case .bool = $0 { choices } else { nil } }

  private static let choices = "give a URL such as http://proxy.example:3128, environment or off"

  private static let pattern =
    "^(?:[Hh][Tt][Tt][Pp][Ss]?|[Ss][Oo][Cc][Kk][Ss]5[Hh]?)://[^/?#@]+:[0-9]{1,5}/?$"

  private static let mapping: ConfigurationForm<ProxySettings> = ConfigurationMapping(ReadProxy()) {
    Key(
      "url", ConfigurationForm<Proxy>(.named("URL", .text(pattern))) { $0.parse { try Proxy(parsing: $0) } }, \.proxy,
      """
      of a mapping: the same URL, where the proxy gets more: `proxy: { url: https://proxy.example:3129, credential: \
      gate }`
      """, missing: .required("the URL of the proxy, such as http://proxy.example:3128"))
    Key(
      late: "credential", .named("name", .text(nil)),
      """
      the entry of `credentials` that the proxy gets with each tunnel and request, as `Proxy-Authorization`: `oauth2`, \
      `basic` or `bearer`; a SOCKS proxy takes `basic` alone (RFC 1929)
      """)
    Key(
      "tls", UpstreamTLS.formOfProxies, \.tls,
      "for an `https://` proxy only; with the keys of a route's `upstream.tls` but `serverName`", isDetailed: false)
  }.form { read, given in
    guard var proxy = read.proxy else { return nil }
    if proxy.kind != .https { given.fitting("tls")?.report("needs an https:// proxy") }
    proxy.tls = read.tls
    return .proxy(proxy)
  }

  /// The meaning of a missing key anywhere but at the top of the file.
  static let missing = "the file's `proxy`"
}

private struct ReadProxy {
  var proxy: ProxySettings.Proxy?
  var tls: UpstreamTLS?
}
