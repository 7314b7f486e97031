/// The certificates of a listener by the names that they are for.
struct IdentityTable: Sendable {
  let identities: [Identity]

  private var exact: [String: [Int]] = [:]
  private var wildcards: [String: [Int]] = [:]
  private var fallback: [Int] = []

  init(_ identities: [Identity]) {
    self.identities = identities
    for (index, identity) in identities.enumerated() {
      for name in identity.names.exact { add(index, to: &exact[name, default: []]) }
      for name in identity.names.wildcards { add(index, to: &wildcards[name, default: []]) }
    }
    guard let first = identities.first else { return }
    for (index, identity) in identities.enumerated() where index == 0 || identity.names.first == first.names.first {
      add(index, to: &fallback)
    }
  }

  /// The certificates for a name, one for each kind of key; nil if there is none. A certificate with the name itself
  /// comes before those with a wildcard, and of two of one kind the first in the settings counts.
  func find(_ name: String) -> [Identity]? {
    let name = CertificateNames.normal(name)
    let found = exact[name] ?? CertificateNames.afterFirstLabel(name).flatMap { wildcards[$0] }
    return found?.map { identities[$0] }
  }

  /// The first certificate, with those of the same first name and another kind of key.
  var first: [Identity] { fallback.map { identities[$0] } }

  private func add(_ index: Int, to places: inout [Int]) {
    let kind = identities[index].keyKind
    if !places.contains(where: { identities[$0].keyKind == kind }) { places.append(index) }
  }
}
