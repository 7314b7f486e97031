package import WeirIO

/// The open connections: the origin to which each leads, and the order in which the idle ones became idle.
///
/// An origin's last used idle connection is used first, so that the others reach the end of their idle
/// lifetime. A value without sockets and clock; connections and origins are numbers.
package struct ConnectionPool {
  package typealias Connection = Int

  private struct Slot {
    var origin: Int
    var isOpen = true
    var isIdle = false
    var idleSince = MonotonicTime(nanoseconds: 0)
  }

  /// The neighbours of an idle connection in a list.
  private struct Links {
    var newer = -1
    var older = -1
  }

  /// The ends of a list of idle connections, in the order in which they became idle.
  private struct Ends {
    var newest = -1
    var oldest = -1

    mutating func push(_ connection: Connection, _ links: inout [Links]) {
      links[connection] = Links(older: newest)
      if newest >= 0 { links[newest].newer = connection } else { oldest = connection }
      newest = connection
    }

    mutating func remove(_ connection: Connection, _ links: inout [Links]) {
      let own = links[connection]
      if own.newer >= 0 { links[own.newer].older = own.older } else { newest = own.older }
      if own.older >= 0 { links[own.older].newer = own.newer } else { oldest = own.newer }
    }
  }

  private let idleLifetime: Double
  private let limit: Int
  private var slots: [Slot] = []
  private var free: [Connection] = []
  private var all = Ends()
  private var linksInAll: [Links] = []
  private var origins: [Ends] = []
  private var linksInOrigin: [Links] = []
  package private(set) var openCount = 0
  package private(set) var idleCount = 0

  /// - Parameters:
  ///   - idleLifetime: Seconds after which an idle connection is due to be closed.
  ///   - limit: With more connections than this, idle ones are due to be closed.
  package init(idleLifetime: Double, limit: Int) {
    self.idleLifetime = max(0, idleLifetime)
    self.limit = max(1, limit)
  }

  /// A new connection to an origin; it is in use.
  package mutating func open(to origin: Int) -> Connection {
    openCount += 1
    while origins.count <= origin { origins.append(Ends()) }
    if let connection = free.popLast() {
      slots[connection] = Slot(origin: origin)
      return connection
    }
    slots.append(Slot(origin: origin))
    linksInAll.append(Links())
    linksInOrigin.append(Links())
    return slots.count - 1
  }

  /// The connection is no longer in use.
  package mutating func release(_ connection: Connection, at now: MonotonicTime) {
    guard slots.indices.contains(connection), slots[connection].isOpen, !slots[connection].isIdle else { return }
    let origin = slots[connection].origin
    slots[connection].isIdle = true
    slots[connection].idleSince = now
    idleCount += 1
    all.push(connection, &linksInAll)
    origins[origin].push(connection, &linksInOrigin)
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
    slots[connection].isOpen = false
    openCount -= 1
    free.append(connection)
  }

  /// An idle connection that is due to be closed: the one that has been idle longest, if it has reached the end of its
  /// lifetime, or if there are too many connections.
  ///
  /// - Parameter others: Connections outside of the pool that count against the limit.
  package func surplus(at now: MonotonicTime, others: Int = 0) -> Connection? {
    guard all.oldest >= 0 else { return nil }
    return openCount + others > limit || end(of: all.oldest) <= now ? all.oldest : nil
  }

  /// When the next idle connection reaches the end of its lifetime; nil if none is idle.
  package var nextEnd: MonotonicTime? { all.oldest < 0 ? nil : end(of: all.oldest) }

  private func end(of connection: Connection) -> MonotonicTime {
    slots[connection].idleSince.advanced(bySeconds: idleLifetime)
  }

  private mutating func unlink(_ connection: Connection) {
    let origin = slots[connection].origin
    slots[connection].isIdle = false
    idleCount -= 1
    all.remove(connection, &linksInAll)
    origins[origin].remove(connection, &linksInOrigin)
  }
}
