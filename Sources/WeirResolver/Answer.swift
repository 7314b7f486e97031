package import WeirIO

/// An answer about a name. Equal sets of records make equal answers, whatever their order.
package struct Answer: Hashable, Sendable {
  /// The most entries of an answer.
  package static let maximumEntries = 4096

  package struct Entry: Hashable, Sendable {
    package let address: IPAddress
    /// The port of a service; nil in an answer about addresses.
    package let port: UInt16?
    /// A service's rank from 0 to 9: the least priority among the records is 0. Ranks beyond the tenth share 9.
    package let priority: Int
    /// A service's weight from 1 to 65535; a record's 0 counts as 1.
    package let weight: Int
    /// The name of a service's target, in lower case and without a dot at its end; nil in an answer about addresses.
    package let target: String?

    package init(
      address: IPAddress, port: UInt16? = nil, priority: Int = 0, weight: Int = 1, target: String? = nil
    ) {
      self.address = address
      self.port = port
      self.priority = priority
      self.weight = weight
      self.target = target
    }
  }

  /// Addresses of one version of IP that are missing, because the question about them failed.
  package struct Gap: Hashable, Sendable {
    /// The version; never `any`.
    package let family: Question.Family
    /// The port of a service; nil in an answer about addresses.
    package let port: UInt16?
    /// The name of a service's target, as in an entry; nil in an answer about addresses.
    package let target: String?

    package init(_ family: Question.Family, port: UInt16? = nil, target: String? = nil) {
      self.family = family
      self.port = port
      self.target = target
    }
  }

  /// The entries by address and port, each pair once. IPv4 comes before IPv6.
  package let entries: [Entry]
  /// The least TTL in seconds of the records, CNAMEs among them; nil if there is none, as for names in /etc/hosts and
  /// for services.
  package let ttl: Double?
  /// Whether there were more entries. The first by address and port are kept.
  package let isCut: Bool
  /// The gaps, at each port of a service's target. If the name servers say that there is no address, there is no gap.
  package let gaps: Set<Gap>

  package init(entries: [Entry], ttl: Double? = nil, isCut: Bool = false, gaps: Set<Gap> = []) {
    self.entries = entries
    self.ttl = ttl
    self.isCut = isCut
    self.gaps = gaps
  }

  /// The number of a service's targets that could not be looked up, so that no entry has their names.
  package var unresolvedTargets: Int {
    Set(gaps.compactMap(\.target)).subtracting(entries.compactMap(\.target)).count
  }
}

/// Entries in the order of an answer. It holds a bounded number of them, however many it is given.
struct EntryCollector {
  private struct Place: Hashable {
    let address: IPAddress
    let port: UInt16?
  }

  private var entries: [Place: Answer.Entry] = [:]
  private(set) var isCut = false

  var isEmpty: Bool { entries.isEmpty }

  /// Adds an entry. Of two for one address and port the one of the better rank stays, then the heavier one.
  mutating func add(_ entry: Answer.Entry) {
    let place = Place(address: entry.address, port: entry.port)
    if let present = entries[place], !Self.isBetter(entry, than: present) { return }
    entries[place] = entry
    // Shrinking is rare, since it makes room for as many entries again.
    if entries.count > Answer.maximumEntries * 2 { shrink() }
  }

  /// Adds a target's entries: each address at each of its places.
  mutating func add(_ addresses: [IPAddress], at places: [ServiceTargets.Place], of target: String) {
    var left = Answer.maximumEntries
    for address in Set(addresses).sorted(by: { $0.sortKey < $1.sortKey }) {
      for place in places {
        // Later ones can't be among the first of the answer. Their number is the product of two numbers that a name
        // server chooses.
        guard left > 0 else {
          isCut = true
          return
        }
        left -= 1
        add(
          Answer.Entry(
            address: address, port: place.port, priority: place.priority, weight: place.weight, target: target))
      }
    }
  }

  mutating func sorted() -> [Answer.Entry] {
    if entries.count > Answer.maximumEntries { shrink() }
    return entries.values.sorted(by: Self.isBefore)
  }

  private mutating func shrink() {
    isCut = true
    let kept = entries.values.sorted(by: Self.isBefore).prefix(Answer.maximumEntries)
    entries.removeAll(keepingCapacity: true)
    for entry in kept { entries[Place(address: entry.address, port: entry.port)] = entry }
  }

  private static func isBefore(_ left: Answer.Entry, _ right: Answer.Entry) -> Bool {
    let (one, other) = (left.address.sortKey, right.address.sortKey)
    return one == other ? left.port ?? 0 < right.port ?? 0 : one < other
  }

  private static func isBetter(_ entry: Answer.Entry, than other: Answer.Entry) -> Bool {
    // The target decides last, so that the order of the records never does.
    (entry.priority, -entry.weight, entry.target ?? "") < (other.priority, -other.weight, other.target ?? "")
  }
}

extension IPAddress {
  /// Orders addresses by their number, IPv4 before IPv6.
  fileprivate var sortKey: (version: Int, high: UInt64, low: UInt64) {
    switch self {
    case .v4(let number): (4, 0, UInt64(number))
    case .v6(let high, let low): (6, high, low)
    }
  }
}

/// The end of a lookup.
package typealias Lookup = Result<Answer, LookupProblem>

/// The reason why a lookup brought no addresses.
package enum LookupProblem: Error, Hashable, Sendable {
  /// No answer came in time.
  case timeout
  /// The name does not exist (NXDOMAIN).
  case noSuchName
  /// The name exists, but has no addresses of the family that was asked for, or no services.
  case noAddresses
  /// The name servers failed (SERVFAIL).
  case serverFailure
  /// The name servers refuse to answer (REFUSED).
  case refused
  case other(String)

  /// A word for metrics, without dynamic text.
  package var label: String {
    switch self {
    case .timeout: "timeout"
    case .noSuchName: "no_such_name"
    case .noAddresses: "no_addresses"
    case .serverFailure: "server_failure"
    case .refused: "refused"
    case .other: "other"
    }
  }

  /// Whether the name servers have said that there is nothing. A repeated question would bring the same.
  var isDefinite: Bool { self == .noSuchName || self == .noAddresses }

  /// A text that can't be a name.
  static let badName = LookupProblem.other("the name is not valid in DNS")
}

extension LookupProblem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .timeout: "no name server answered in time"
    case .noSuchName: "there is no such name"
    case .noAddresses: "the name has no addresses"
    case .serverFailure: "the name server failed (SERVFAIL)"
    case .refused: "the name server refused the question (REFUSED)"
    case .other(let text): text
    }
  }
}
