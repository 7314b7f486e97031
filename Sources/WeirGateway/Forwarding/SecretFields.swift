import WeirCurl
import WeirIO
import WeirTransport

/// The fields with secrets that attempts of a route get when they begin, as one worker has them: values of files, and the
/// credential behind them. Confined to the worker's loop.
final class SecretFields {
  /// Nil if the route has none.
  let credential: OutboundCredential?
  private let rules: [HeaderRule]
  @exclusivity(unchecked) private(set) var block = HeaderBlock()
  /// The versions of the rules' secrets in `block`.
  @exclusivity(unchecked) private var versions: [UInt64] = []
  /// The version of the credential in `block`; 0 without a value.
  @exclusivity(unchecked) private(set) var version: UInt64 = 0
  @exclusivity(unchecked) private var stamp: UInt64 = 0
  /// Until when the credential may be used without asking it, unless its stamp changes.
  @exclusivity(unchecked) private var until = MonotonicTime(nanoseconds: 0)

  init(_ route: RoutePlan) {
    let headers = route.route.headers.leavingOut(route.credential?.field)
    rules = (headers.set + headers.add).filter { $0.secret != nil }
    credential = route.credential
  }

  /// Whether the credential may be sent without asking it.
  func isReady(at now: MonotonicTime) -> Bool {
    guard let credential else { return true }
    if credential.stamp != stamp { read() }
    return now < until
  }

  /// Brings the fields up to date.
  func refresh() { if isOutdated { read() } }

  private var isOutdated: Bool {
    if let credential, credential.stamp != stamp { return true }
    if rules.isEmpty { return false }
    for (rule, version) in zip(rules, versions) where rule.secret?.version != version { return true }
    return versions.count != rules.count
  }

  private func read() {
    var block = HeaderBlock()
    versions = rules.map { rule in
      let version = rule.secret?.version ?? 0
      append(Array(rule.name.utf8), rule.secret?.octets ?? [], to: &block)
      return version
    }
    if let credential {
      stamp = credential.stamp
      let value = credential.value()
      (version, until) = (value.version, value.until)
      if version > 0 { append(credential.field, value.octets, to: &block) }
    }
    self.block = block
  }

  private func append(_ name: [UInt8], _ value: [UInt8], to block: inout HeaderBlock) {
    name.withUnsafeBytes { name in value.withUnsafeBytes { block.append(name: name, value: $0) } }
  }
}
