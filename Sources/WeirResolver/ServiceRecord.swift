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
