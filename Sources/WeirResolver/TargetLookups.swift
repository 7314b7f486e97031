/// The lookups of a service's targets, each target once for each version of IP: of two versions in one question c-ares
/// reports only what came last, so that a failure could pass for a target without addresses.
///
/// Confined to the loop. It belongs to its lookup, which may be over before all targets have answered.
final class TargetLookups {
  private struct Part: Hashable {
    let target: String
    let family: Question.Family
  }

  private weak var lookup: PendingLookup?
  private let services: ServiceTargets
  private var collector = EntryCollector()
  private let parts: [Part]
  /// The number of parts that have not answered.
  private var missing: Int
  /// The parts that have not answered, or whose lookup failed.
  private var unresolved: Set<Part>
  /// The problem of the first part that failed, by the target's name and then IPv4 before IPv6.
  private var problem: (order: Int, problem: LookupProblem)?

  init(of lookup: PendingLookup, _ services: ServiceTargets) {
    self.lookup = lookup
    self.services = services
    let versions = lookup.question.family.versions
    parts = services.places.keys.sorted().flatMap { target in versions.map { Part(target: target, family: $0) } }
    missing = parts.count
    unresolved = Set(parts)
  }

  /// The answer as far as it is known; nil without any address.
  var partialAnswer: Answer? {
    guard !collector.isEmpty else { return nil }
    var collector = collector
    return Answer(entries: collector.sorted(), isCut: collector.isCut, gaps: gaps)
  }

  private var gaps: Set<Answer.Gap> {
    Set(
      unresolved.flatMap { part in
        (services.places[part.target] ?? []).map { Answer.Gap(part.family, port: $0.port, target: part.target) }
      })
  }

  func begin() {
    guard let lookup else { return }
    guard missing > 0 else {
      lookup.finish(.failure(.noAddresses))
      return
    }
    for (order, part) in parts.enumerated() {
      lookup.resolver?.enterNext { [weak lookup] in
        guard let lookup, lookup.isWanted else { return false }
        // A target is a full name (RFC 2782). The dot keeps the search list away, and /etc/hosts too.
        return lookup.findAddresses(of: part.target + ".", part.family) { self.found($0, of: part, order) }
      }
    }
  }

  private func found(_ result: Result<HostAddresses, LookupProblem>, of part: Part, _ order: Int) {
    missing -= 1
    switch result {
    case .success(let found):
      unresolved.remove(part)
      collector.add(found.addresses, at: services.places[part.target] ?? [], of: part.target)
    case .failure(let failure) where failure.isDefinite: unresolved.remove(part)
    case .failure(let failure):
      if problem.map({ order < $0.order }) ?? true { problem = (order, failure) }
    }
    guard missing == 0 else { return }
    lookup?.finish(
      partialAnswer.map { .success($0) } ?? .failure(problem?.problem ?? .noAddresses))
  }
}
