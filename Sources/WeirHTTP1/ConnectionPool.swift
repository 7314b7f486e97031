package import WeirIO

/// The open connections: the origin to which each leads, and the order in which the idle ones became idle.
///
/// An origin's last used idle connection is used first, so that the others reach the end of their idle
/// lifetime. A value without sockets and clock; connections and origins are numbers.
package struct ConnectionPool {
  package typealias Connection = Int

  /// How long connections are kept, in seconds.
  package struct Terms: Hashable, Sendable {
    /// An idle connection is then due to be closed.
    package var idleLifetime: Double
    /// Since the connection was opened; an idle one is then due to be closed, and one in use after its use.
    package var maximumAge: Double

    package init(idleLifetime: Double, maximumAge: Double = .infinity) {
      self.idleLifetime = max(0, idleLifetime)
      self.maximumAge = max(0, maximumAge)
    }
  }

  private struct Slot {
    var origin: Int
    var group: Int
    /// When the connection is too old.
    var expiry: MonotonicTime
    var isOpen = true
    var isIdle = false
    /// Whether it is in its group's list of those that will be too old.
    var isAgeing = false
    var idleSince = MonotonicTime(nanoseconds: 0)
  }

  /// The connections under equal terms. In each of its lists, the one that is due first comes first.
  private struct Group {
    var terms: Terms
    var openCount = 0
    /// The idle ones, in the order in which they became idle.
    var idle = Ends()
    /// Those with a limited age, idle or not, in the order in which they were opened.
    var ageing = Ends()
  }

  private let limit: Int
  private var slots: [Slot] = []
  private var free: [Connection] = []
  /// The first group has the pool's own terms. The others are given to new terms when they are empty.
  private var groups: [Group]
  private var idleLinks: [Links] = []
  private var ageLinks: [Links] = []
  private var origins: [Ends] = []
  private var originLinks: [Links] = []
  package private(set) var openCount = 0
  package private(set) var idleCount = 0
  /// Whether any connection has had terms of its own. If not, none of the questions about them costs anything.
  package private(set) var hasOwnTerms = false

  /// - Parameters:
  ///   - idleLifetime: Seconds after which an idle connection is due to be closed, if it has no terms of its own.
  ///   - limit: With more connections than this, idle ones are due to be closed.
  package init(idleLifetime: Double, limit: Int) {
    groups = [Group(terms: Terms(idleLifetime: idleLifetime))]
    self.limit = max(1, limit)
  }

  /// The terms of connections without their own.
  package var terms: Terms { groups[0].terms }

  /// A new connection to an origin; it is in use.
  ///
  /// - Parameter terms: Nil for the pool's own.
  package mutating func open(to origin: Int, at now: MonotonicTime, under terms: Terms? = nil) -> Connection {
    openCount += 1
    while origins.count <= origin { origins.append(Ends()) }
    let group = terms.map { self.group(for: $0) } ?? 0
    groups[group].openCount += 1
    let age = groups[group].terms.maximumAge
    let slot = Slot(origin: origin, group: group, expiry: now.advanced(bySeconds: age), isAgeing: age < .infinity)
    let connection = free.popLast() ?? slots.count
    if connection < slots.count {
      slots[connection] = slot
    } else {
      slots.append(slot)
      idleLinks.append(Links())
      ageLinks.append(Links())
      originLinks.append(Links())
    }
    if slot.isAgeing { groups[group].ageing.push(connection, &ageLinks) }
    return connection
  }

  /// The connection is no longer in use. One that is too old has to be closed instead.
  package mutating func release(_ connection: Connection, at now: MonotonicTime) {
    guard slots.indices.contains(connection), slots[connection].isOpen, !slots[connection].isIdle else { return }
    let origin = slots[connection].origin
    slots[connection].isIdle = true
    slots[connection].idleSince = now
    idleCount += 1
    groups[slots[connection].group].idle.push(connection, &idleLinks)
    origins[origin].push(connection, &originLinks)
  }

  /// The origin's connection that was last in use; it is in use from now on. Nil if none is idle.
  package mutating func take(for origin: Int) -> Connection? {
    guard origins.indices.contains(origin), origins[origin].newest >= 0 else { return nil }
    let connection = origins[origin].newest
    unlink(connection)
    return connection
  }

  /// The connection is closed.
  package mutating func close(_ connection: Connection) {
    guard slots.indices.contains(connection), slots[connection].isOpen else { return }
    if slots[connection].isIdle { unlink(connection) }
    stopAgeing(connection)
    slots[connection].isOpen = false
    groups[slots[connection].group].openCount -= 1
    openCount -= 1
    free.append(connection)
  }

  /// Whether an open connection must not be used for another request.
  package func isTooOld(_ connection: Connection, at now: MonotonicTime) -> Bool {
    hasOwnTerms && slots[connection].expiry <= now
  }

  /// Whether a connection that was just taken had been due to be closed by terms of its own. The pool's own terms are
  /// left to `surplus`.
  package func isOver(_ connection: Connection, at now: MonotonicTime) -> Bool {
    hasOwnTerms && slots[connection].group > 0 && end(of: connection) <= now
  }

  /// An idle connection that is due to be closed: one that has reached the end of its time, or the one that has been
  /// idle longest, if there are too many connections.
  ///
  /// - Parameter others: Connections outside of the pool that count against the limit.
  package mutating func surplus(at now: MonotonicTime, others: Int = 0) -> Connection? {
    if openCount + others > limit, let longest = longestIdle { return longest }
    for group in groups.indices {
      let oldest = groups[group].idle.oldest
      if oldest >= 0, end(of: oldest) <= now { return oldest }
      while let first = groups[group].ageing.first, slots[first].expiry <= now {
        if slots[first].isIdle { return first }
        // It is closed after its use.
        stopAgeing(first)
      }
    }
    return nil
  }

  /// The time before which no idle connection is due to be closed; nil if there is no such time. With limited ages, no
  /// connection may be due then, as the oldest one may be in use.
  package var nextEnd: MonotonicTime? {
    var next: MonotonicTime?
    for group in groups {
      let oldest = group.idle.oldest
      guard oldest >= 0 else { continue }
      let end = min(end(of: oldest), group.ageing.first.map { slots[$0].expiry } ?? .distantFuture)
      next = min(next ?? end, end)
    }
    return next
  }

  /// When the connection, if it stays idle, is due to be closed.
  package func end(of connection: Connection) -> MonotonicTime {
    let slot = slots[connection]
    return min(slot.expiry, slot.idleSince.advanced(bySeconds: groups[slot.group].terms.idleLifetime))
  }

  private var longestIdle: Connection? {
    groups.lazy.map(\.idle.oldest).filter { $0 >= 0 }.min { slots[$0].idleSince < slots[$1].idleSince }
  }

  private mutating func group(for terms: Terms) -> Int {
    if let known = groups.firstIndex(where: { $0.terms == terms }) { return known }
    if let empty = groups.indices.dropFirst().first(where: { groups[$0].openCount == 0 }) {
      groups[empty].terms = terms
      return empty
    }
    hasOwnTerms = true
    groups.append(Group(terms: terms))
    return groups.count - 1
  }

  private mutating func stopAgeing(_ connection: Connection) {
    guard slots[connection].isAgeing else { return }
    slots[connection].isAgeing = false
    groups[slots[connection].group].ageing.remove(connection, &ageLinks)
  }

  private mutating func unlink(_ connection: Connection) {
    let origin = slots[connection].origin
    slots[connection].isIdle = false
    idleCount -= 1
    groups[slots[connection].group].idle.remove(connection, &idleLinks)
    origins[origin].remove(connection, &originLinks)
  }
}

/// The neighbours of a connection in a list.
private struct Links {
  var newer = -1
  var older = -1
}

/// The ends of a list of connections, to which new ones are added behind the newest.
private struct Ends {
  var newest = -1
  var oldest = -1

  var first: ConnectionPool.Connection? { oldest < 0 ? nil : oldest }

  mutating func push(_ connection: ConnectionPool.Connection, _ links: inout [Links]) {
    links[connection] = Links(older: newest)
    if newest >= 0 { links[newest].newer = connection } else { oldest = connection }
    newest = connection
  }

  mutating func remove(_ connection: ConnectionPool.Connection, _ links: inout [Links]) {
    let own = links[connection]
    if own.newer >= 0 { links[own.newer].older = own.older } else { newest = own.older }
    if own.older >= 0 { links[own.older].newer = own.newer } else { oldest = own.newer }
  }
}
