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

/// An SRV record (RFC 2782).
struct ServiceRecord: Hashable {
  let target: String
  let port: UInt16
  let priority: UInt16
  let weight: UInt16
}

/// The SRV records of an answer by target, with their ranks.
struct ServiceTargets {
  struct Place: Hashable {
    let port: UInt16
    let priority: Int
    let weight: Int

    func isBetter(than other: Place) -> Bool { (priority, -weight) < (other.priority, -other.weight) }
  }

  /// The highest rank, shared by all records beyond it.
  static let lastRank = 9

  /// The places of each target by port, each port once. Targets that are no host name are left out.
  let places: [String: [Place]]

  init(_ records: [ServiceRecord]) {
    let usable = records.compactMap { record in Self.host(record.target).map { (host: $0, record: record) } }
    let priorities = Set(usable.map(\.record.priority)).sorted()
    let ranks = Dictionary(uniqueKeysWithValues: priorities.enumerated().map { ($1, min($0, Self.lastRank)) })
    var places: [String: [UInt16: Place]] = [:]
    for (host, record) in usable {
      let place = Place(
        port: record.port, priority: ranks[record.priority] ?? Self.lastRank, weight: max(1, Int(record.weight)))
      let present = places[host]?[record.port]
      if present.map({ place.isBetter(than: $0) }) ?? true { places[host, default: [:]][record.port] = place }
    }
    self.places = places.mapValues { $0.values.sorted { $0.port < $1.port } }
  }

  /// The target in lower case and without its final dot. Nil for the target `.`, which says that there is no such service
  /// (RFC 2782), and for bytes that no host name has: the name may become a Host field.
  private static func host(_ target: String) -> String? {
    var bytes = Array(target.utf8)
    if bytes.last == 0x2E { bytes.removeLast() }
    guard !bytes.isEmpty, bytes.count <= 253 else { return nil }
    for index in bytes.indices {
      switch bytes[index] {
      case 0x41...0x5A: bytes[index] |= 0x20
      case 0x61...0x7A, 0x30...0x39, 0x2D, 0x2E, 0x5F: break
      default: return nil
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
