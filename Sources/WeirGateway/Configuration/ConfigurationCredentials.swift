import WeirCurl
import WeirHTTP
import WeirIO
import WeirTransport

/// Looks up the credentials of a file by their names, and compares them with the routes and upstreams that name them.
struct ConfigurationCredentials {
  private var entries: [ReadCredential]
  private var known: [String: CredentialSettings] = [:]
  /// The lines of the names of all entries, those with problems too.
  private var lines: [String: Int] = [:]
  /// Whether the names of all entries could be read. One that could not is no reason to report those who use it.
  private let hasAllNames: Bool
  private var used: Set<String> = []

  /// - Parameter list: The value of `credentials`; nil if the file has none.
  init(_ entries: [ReadCredential], _ list: ConfigurationReader?) {
    self.entries = entries
    if case .sequence(let nodes)? = list?.node.content {
      hasAllNames = nodes.count == entries.count { $0.nameReader != nil }
    } else {
      hasAllNames = list == nil
    }
    for entry in entries {
      guard let reader = entry.nameReader else { continue }
      if let line = lines[entry.name] {
        reader.report("another credential is named \(quoted(entry.name)) (line \(line))")
      } else {
        lines[entry.name] = reader.node.position.line
        known[entry.name] = entry.settings
      }
    }
  }

  /// All of them, in the order of the file.
  var settings: [CredentialSettings] { entries.compactMap(\.settings) }

  /// Reads the name of a credential. Nil if there is none of that name, of which a problem tells.
  mutating func name(_ reader: ConfigurationReader?) -> String? {
    let name = reader?.read(as: .string) { name in
      if lines[name] != nil || !hasAllNames { return nil }
      let guess = suggestion(for: name, among: lines.keys).map { "did you mean \(quoted($0))?" }
      let list = lines.keys.sorted().map { quoted($0) }.joined(separator: ", ")
      // One that is like no name may be a secret.
      let isName = ConfigurationForm<String>.problem(plainName: name) == nil
      return "no credential \(isName ? "is named \(quoted(name))" : "has this name"); "
        + (guess ?? (lines.isEmpty ? "the file has no credentials" : "there are \(list)"))
    }
    if let name { used.insert(name) }
    return name
  }

  /// Warns of credentials that nothing names.
  func warnOfUnused() {
    for entry in entries where !used.contains(entry.name) {
      entry.nameReader?.warn("no route, upstream, proxy or telemetry names this credential")
    }
  }

  /// Warns of a credential that goes to an upstream in clear text.
  ///
  /// - Parameter upstream: The entry of `upstreams` that names it.
  func compare(_ upstream: NamedUpstream, _ reader: ConfigurationReader) {
    if let place = upstream.clearPlace { warn(reader, of: place) }
  }

  // MARK: Proxies

  /// Gives token services the proxies on their way.
  mutating func complete(by proxies: ConfigurationProxies) {
    for index in entries.indices {
      guard case .oauth2(let settings, let tls, var proxy, let wait)? = entries[index].kind,
        let reader = entries[index].oauth2Reader
      else { continue }
      let own = reader.child("proxy")
      if own != nil || !settings.isOnLoopback { proxy = proxies.complete(proxy, own, &self) }
      if let name = proxy.credential, case .oauth2? = known[name]?.kind {
        if let own {
          own.child("credential")?.report(
            "is a token, which would be fetched through this proxy; give one of basic or bearer")
        } else {
          reader.report("is missing; the file's proxy wants a token, which would be fetched through it", key: "proxy")
        }
      }
      entries[index].kind = .oauth2(settings, tls: tls, proxy: proxy, wait: wait)
    }
  }

  /// Compares a proxy with the credential that it gets.
  func compare(_ proxy: ProxySettings.Proxy, _ reader: ConfigurationReader) {
    guard let name = proxy.credential, let kind = known[name]?.kind else { return }
    let isSOCKS = proxy.kind == .socks5 || proxy.kind == .socks5h
    switch kind {
    case .field:
      reader.report("writes a field of its own, which proxies don't know; give one of oauth2, basic or bearer")
    case .oauth2 where isSOCKS, .bearer where isSOCKS:
      reader.report("must be one of basic, as SOCKS proxies know users and passwords alone (RFC 1929)")
    case .basic(let user, let password) where isSOCKS:
      if !(1...255).contains(user.utf8.count) || !(1...255).contains(password.octets.count) {
        reader.report("must have a user and a password of 1 to 255 octets for a SOCKS proxy (RFC 1929)")
      }
    case .oauth2, .bearer, .basic: break
    }
    if proxy.kind != .https, !CanonicalHost(proxy.host).isLoopback { warn(reader, of: proxy.host) }
  }

  /// Compares a route with the credentials that its requests get.
  ///
  /// - Parameter entry: The entry of `upstreams` to which an upstream leads; nil for a URL.
  func compare(_ route: Route, _ given: ConfigurationGiven, entry: (Upstream) -> NamedUpstream?) {
    var own = route.upstreams
    var names: [String?] = []
    if case .upstream(let upstream)? = route.fallback?.action {
      names.append(entry(upstream)?.credential)
      own.removeLast()
    }
    if case .requested = route.action { names.append(route.credential) }
    names += own.map { route.credential ?? entry($0)?.credential }
    let credentials = names.map { $0.flatMap { known[$0] } }
    if let reader = given["credential"], route.credential != nil {
      let places = own.compactMap { entry($0).map(\.clearPlace) ?? $0.clearPlace }
      if let place = places.first { warn(reader, of: place) }
    }
    if route.auth?.forwards == true,
      let credential = credentials.first(where: { $0?.writes("Authorization") == true }) ?? nil
    {
      given["auth"]?.child("forward")?.report(
        "credential \(quoted(credential.name)) writes Authorization in place of the client's; leave one of them out")
    }
    guard let headers = given.fitting("headers") else { return }
    for field in ["set", "add"].flatMap({ headers.child($0)?.partedEntries() ?? [] })
    where credentials.allSatisfy({ $0?.writes(field.key) == true }) {
      field.value.warn("has no effect: the credential writes this field in its place")
    }
  }

  /// Warns of a secret that goes to a place in clear text.
  func warn(_ reader: ConfigurationReader, of place: String) {
    reader.warn("is sent to \(quoted(place)) in clear text; use https, or a loopback address or Unix socket")
  }
}

extension CredentialSettings {
  fileprivate func writes(_ name: String) -> Bool { FieldSyntax.isSameName(field, name) }
}

extension Upstream {
  /// The host to which requests go in clear text over a network; nil if they don't.
  fileprivate var clearPlace: String? { scheme == .http && !CanonicalHost(host).isLoopback ? host : nil }
}

extension NamedUpstream {
  /// The first place to which requests go in clear text over a network; nil if there is none.
  fileprivate var clearPlace: String? {
    guard target.scheme == .http else { return nil }
    return switch source {
    case .listed(let endpoints):
      endpoints.first { !$0.isUnixSocket && !CanonicalHost($0.host).isLoopback }?.name
    case .services(let name): name
    case .file(let path): path
    }
  }
}
