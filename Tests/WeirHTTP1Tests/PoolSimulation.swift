import WeirHTTP1
import WeirIO
import WeirTestSupport

/// A pool in random use, beside a model that keeps the idle connections in one list.
struct PoolSimulation {
  enum Event: String, CaseIterable {
    case opened, openedWithAnOldNumber, released, releasedTwice, reused, foundNone, closedIdle, closedInUse, closedTwice
    case closedAsTaken, closedAsOver, closedForIdleness, closedForAge, closedForTheLimit, closedForOthers
    case tooOldAfterUse
  }

  private struct Idle: Equatable {
    let connection: Int
    let since: MonotonicTime
  }

  private struct Open {
    let origin: Int
    let expiry: MonotonicTime
  }

  private(set) var violations: [String] = []
  private(set) var log: [String] = []
  private(set) var seen: [Event: Int] = [:]
  private let isLogged: Bool
  private let limit: Int
  /// The terms of each origin's connections; nil for the pool's own.
  private let terms: [ConnectionPool.Terms?]
  private let origins: Int
  private var random: SeededRandom
  private var now = MonotonicTime(nanoseconds: 1)
  private var pool: ConnectionPool
  // The model.
  private var open: [Int: Open] = [:]
  private var closed: Set<Int> = []
  /// The one that has been idle longest comes first.
  private var idle: [Idle] = []

  init(seed: UInt64, isLogged: Bool = false) {
    random = SeededRandom(seed: seed)
    self.isLogged = isLogged
    let lifetimes = [0, 0.5, 3, 1000]
    limit = Int.random(in: 1...12, using: &random)
    origins = Int.random(in: 1...4, using: &random)
    pool = ConnectionPool(idleLifetime: lifetimes.randomElement(using: &random) ?? 0, limit: limit)
    var terms: [ConnectionPool.Terms?] = []
    for _ in 0..<origins {
      let lifetime = lifetimes.randomElement(using: &random) ?? 0
      let age = ([.infinity, 0, 2, 9] as [Double]).randomElement(using: &random) ?? 0
      terms.append(Bool.random(using: &random) ? nil : .init(idleLifetime: lifetime, maximumAge: age))
    }
    self.terms = terms
  }

  mutating func run() {
    for _ in 0..<120 where violations.isEmpty {
      if Bool.random(using: &random) { now = now.advanced(bySeconds: Double.random(in: 0..<1, using: &random)) }
      step()
      check()
    }
  }

  private func isIdle(_ connection: Int) -> Bool { idle.contains { $0.connection == connection } }

  private func end(of idle: Idle) -> MonotonicTime {
    guard let open = open[idle.connection] else { return .distantFuture }
    let lifetime = (terms[open.origin] ?? pool.terms).idleLifetime
    return min(open.expiry, idle.since.advanced(bySeconds: lifetime))
  }

  private mutating func note(_ event: Event, _ connection: Int) {
    seen[event, default: 0] += 1
    if isLogged { log.append("\(event.rawValue) \(connection)") }
  }

  private mutating func step() {
    switch Int.random(in: 0..<100, using: &random) {
    case ..<20: openOne()
    case ..<50: release()
    case ..<75: take()
    case ..<83: closeAny()
    case ..<86: closeAgain()
    default: trim()
    }
  }

  private mutating func openOne() {
    guard open.count < 20 else { return }
    let origin = Int.random(in: 0..<origins, using: &random)
    let connection = pool.open(to: origin, at: now, under: terms[origin])
    if open[connection] != nil { violations.append("number \(connection) is given twice") }
    note(closed.contains(connection) ? .openedWithAnOldNumber : .opened, connection)
    closed.remove(connection)
    let age = terms[origin]?.maximumAge ?? .infinity
    open[connection] = Open(origin: origin, expiry: now.advanced(bySeconds: age))
  }

  private mutating func release() {
    guard let connection = open.keys.sorted().randomElement(using: &random) else { return }
    let isTooOld = open[connection].map { $0.expiry <= now } ?? false
    if pool.isTooOld(connection, at: now) != isTooOld { violations.append("\(connection) is too old or is not") }
    if isTooOld, !isIdle(connection) { return close(connection, .tooOldAfterUse) }
    pool.release(connection, at: now)
    if isIdle(connection) { return note(.releasedTwice, connection) }
    idle.append(Idle(connection: connection, since: now))
    note(.released, connection)
  }

  private mutating func take() {
    let origin = Int.random(in: 0...origins, using: &random)
    let connection = pool.take(for: origin)
    let index = idle.lastIndex { open[$0.connection]?.origin == origin }
    let expected = index.map { idle[$0] }
    if connection != expected?.connection {
      violations.append("took \(connection ?? -1) and not \(expected?.connection ?? -1)")
    }
    let isOver = expected.map { terms[origin] ?? pool.terms != pool.terms && end(of: $0) <= now } ?? false
    if let index { idle.remove(at: index) }
    if let connection, pool.isOver(connection, at: now) != isOver { violations.append("it is over or is not") }
    if let connection, isOver { return close(connection, .closedAsOver) }
    note(connection == nil ? .foundNone : .reused, connection ?? -1)
    // A connection that is found dead before its reuse is closed at once.
    if let connection, Int.random(in: 0..<4, using: &random) == 0 { close(connection, .closedAsTaken) }
  }

  private mutating func close(_ connection: Int, _ event: Event) {
    pool.close(connection)
    idle.removeAll { $0.connection == connection }
    open[connection] = nil
    closed.insert(connection)
    note(event, connection)
  }

  private mutating func closeAny() {
    guard let connection = open.keys.sorted().randomElement(using: &random) else { return }
    close(connection, isIdle(connection) ? .closedIdle : .closedInUse)
  }

  /// The end of a connection that was closed already, and its late release.
  private mutating func closeAgain() {
    guard let connection = closed.sorted().randomElement(using: &random) else { return }
    if Bool.random(using: &random) { pool.release(connection, at: now) }
    pool.close(connection)
    note(.closedTwice, connection)
  }

  private mutating func trim() {
    let others = Bool.random(using: &random) ? 0 : Int.random(in: 0...8, using: &random)
    while violations.isEmpty {
      let due = pool.surplus(at: now, others: others)
      let isTooMany = open.count + others > limit
      // Any of several may be the first: those that became idle at the same time, or whose time is over.
      let over = idle.filter { end(of: $0) <= now }
      let expected = isTooMany ? idle.filter { $0.since == idle.first?.since } : over
      let fits = due.map { due in expected.contains { $0.connection == due } } ?? expected.isEmpty
      if !fits { violations.append("surplus is \(due ?? -1) and not of \(expected)") }
      guard let due else {
        if let next = pool.nextEnd, next <= now { violations.append("the next end is past after a trim") }
        return
      }
      let isAged = open[due].map { $0.expiry <= now } ?? false
      let isOver = over.contains { $0.connection == due }
      let limited: Event = open.count > limit ? .closedForTheLimit : .closedForOthers
      close(due, isAged ? .closedForAge : isOver ? .closedForIdleness : limited)
    }
  }

  private mutating func check() {
    if pool.openCount != open.count { violations.append("\(pool.openCount) open and not \(open.count)") }
    if pool.idleCount != idle.count { violations.append("\(pool.idleCount) idle and not \(idle.count)") }
    let next = idle.map(end(of:)).min()
    // A connection in use may be counted in that is to reach its age earlier.
    let expiries = open.values.map(\.expiry)
    let isRight = pool.nextEnd == next || pool.nextEnd.map { $0 < next ?? $0 && expiries.contains($0) } ?? false
    if !isRight { violations.append("the next end is wrong") }
  }
}
