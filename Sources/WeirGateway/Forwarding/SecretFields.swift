import WeirCurl
import WeirIO
import WeirTransport

/// The fields with secrets that attempts of a route get when they begin, as one worker has them: values of files, and the
/// credential behind them; and the credential of the proxy on the way, which gets it from the engine. Confined to the
/// worker's loop.
final class SecretFields {
  /// Nil if the route has none.
  @exclusivity(unchecked) private var credential: SeenCredential?
  /// Nil if the proxy has none.
  @exclusivity(unchecked) private var proxyCredential: SeenCredential?
  private let rules: [HeaderRule]
  @exclusivity(unchecked) private(set) var block = HeaderBlock()
  /// The versions of the rules' secrets in `block`.
  @exclusivity(unchecked) private var ruleVersions: [UInt64] = []

  init(_ route: RoutePlan) {
    let headers = route.route.headers.leavingOut(route.credential?.field)
    rules = (headers.set + headers.add).filter { $0.secret != nil }
    credential = route.credential.map(SeenCredential.init)
    proxyCredential = route.proxyCredential.map(SeenCredential.init)
  }

  /// The versions of the credentials.
  var versions: CredentialVersions {
    CredentialVersions(route: credential?.version ?? 0, proxy: proxyCredential?.version ?? 0)
  }

  /// Whether the route's credential may be sent without asking it.
  func isReady(at now: MonotonicTime) -> Bool {
    guard let credential else { return true }
    if credential.isOutdated { read() }
    return self.credential?.isReady(at: now) ?? true
  }

  /// The same for the proxy's.
  func isProxyReady(at now: MonotonicTime) -> Bool {
    readProxys()
    return proxyCredential?.isReady(at: now) ?? true
  }

  /// Brings the fields up to date.
  func refresh() {
    if isOutdated { read() }
    readProxys()
  }

  private func readProxys() { if proxyCredential?.isOutdated == true { _ = proxyCredential?.read() } }

  private var isOutdated: Bool {
    if let credential, credential.isOutdated { return true }
    if rules.isEmpty { return false }
    for (rule, version) in zip(rules, ruleVersions) where rule.secret?.version != version { return true }
    return ruleVersions.count != rules.count
  }

  private func read() {
    var block = HeaderBlock()
    ruleVersions = rules.map { rule in
      let version = rule.secret?.version ?? 0
      append(Array(rule.name.utf8), rule.secret?.octets ?? [], to: &block)
      return version
    }
    if let value = credential?.read(), value.version > 0, let field = credential?.credential.field {
      append(field, value.octets, to: &block)
    }
    self.block = block
  }

  private func append(_ name: [UInt8], _ value: [UInt8], to block: inout HeaderBlock) {
    name.withUnsafeBytes { name in value.withUnsafeBytes { block.append(name: name, value: $0) } }
  }
}

/// A credential as a worker has seen it last.
struct SeenCredential {
  let credential: OutboundCredential
  /// 0 without a value.
  private(set) var version: UInt64 = 0
  private var stamp: UInt64 = 0
  /// Until when it may be used without asking it, unless its stamp changes.
  private var until = MonotonicTime(nanoseconds: 0)

  init(_ credential: OutboundCredential) { self.credential = credential }

  /// Whether it has changed since.
  var isOutdated: Bool { credential.stamp != stamp }

  func isReady(at now: MonotonicTime) -> Bool { now < until }

  mutating func read() -> OutboundCredential.Value {
    stamp = credential.stamp
    let value = credential.value()
    (version, until) = (value.version, value.until)
    return value
  }
}
