/// The lookups of a service's targets, each target once.
///
/// Confined to the loop. It belongs to its lookup, which may be over before all targets have answered.
final class TargetLookups {
  private weak var lookup: PendingLookup?
  private let services: ServiceTargets
  private var collector = EntryCollector()
  /// The number of targets that have not answered.
  private var missing: Int
  /// The targets that have not answered, or whose lookup failed.
  private var unresolved: Set<String>
  /// The problem of the first target that failed, by name.
  private var problem: (target: String, problem: LookupProblem)?

  init(of lookup: PendingLookup, _ services: ServiceTargets) {
    self.lookup = lookup
    self.services = services
    missing = services.places.count
    unresolved = Set(services.places.keys)
  }

  /// The answer as far as it is known; nil without any address.
  var partialAnswer: Answer? {
    guard !collector.isEmpty else { return nil }
    var collector = collector
    return Answer(entries: collector.sorted(), isCut: collector.isCut, gaps: gaps)
  }

  private var gaps: Set<Answer.Gap> {
    Set(
      unresolved.flatMap { target in
        (services.places[target] ?? []).map { Answer.Gap(target: target, port: $0.port) }
      })
  }

  func begin() {
    guard let lookup else { return }
    guard missing > 0 else {
      lookup.finish(.failure(.noAddresses))
      return
    }
    for (target, places) in services.places {
      lookup.resolver?.enterNext { [weak lookup] in
        guard let lookup, lookup.isWanted else { return false }
        // A target is a full name (RFC 2782). The dot keeps the search list away, and /etc/hosts too.
        return lookup.findAddresses(of: target + ".") { self.found($0, of: target, at: places) }
      }
    }
  }

  private func found(
    _ result: Result<HostAddresses, LookupProblem>, of target: String, at places: [ServiceTargets.Place]
  ) {
    missing -= 1
    switch result {
    case .success(let found):
      unresolved.remove(target)
      collector.add(found.addresses, at: places, of: target)
    case .failure(let failure) where failure.isDefinite: unresolved.remove(target)
    case .failure(let failure):
      if problem.map({ target < $0.target }) ?? true { problem = (target, failure) }
    }
    guard missing == 0 else { return }
    lookup?.finish(
      partialAnswer.map { .success($0) } ?? .failure(problem?.problem ?? .noAddresses))
  }
}
