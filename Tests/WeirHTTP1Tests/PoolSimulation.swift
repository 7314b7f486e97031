import WeirHTTP1
import WeirIO
import WeirTestSupport

/// A pool in random use, beside a model that keeps the idle connections in one list.
struct PoolSimulation {
  enum Event: String, CaseIterable {
    case opened, openedWithAnOldNumber, released, releasedTwice, reused, foundNone, closedIdle, closedInUse, closedTwice
    case closedAsTaken, closedForAge, closedForTheLimit, closedForOthers
  }

  private struct Idle: Equatable {
    let connection: Int
    let since: MonotonicTime
  }

  private(set) var violations: [String] = []
  private(set) var log: [String] = []
  private(set) var seen: [Event: Int] = [:]
  private let isLogged: Bool
  private let lifetime: Double
  private let limit: Int
  private let origins: Int
  private var random: SeededRandom
  private var now = MonotonicTime(nanoseconds: 1)
  private var pool: ConnectionPool
  // The model.
  private var open: [Int: Int] = [:]
  private var closed: Set<Int> = []
  /// The one that has been idle longest comes first.
  private var idle: [Idle] = []

  init(seed: UInt64, isLogged: Bool = false) {
    random = SeededRandom(seed: seed)
    self.isLogged = isLogged
    lifetime = [0, 0.5, 3, 1000].randomElement(using: &random) ?? 0
    limit = Int.random(in: 1...12, using: &random)
    origins = Int.random(in: 1...4, using: &random)
    pool = ConnectionPool(idleLifetime: lifetime, limit: limit)
  }

  mutating func run() {
    for _ in 0..<120 where violations.isEmpty {
      if Bool.random(using: &random) { now = now.advanced(bySeconds: Double.random(in: 0..<1, using: &random)) }
      step()
      check()
    }
  }

  private func isIdle(_ connection: Int) -> Bool { idle.contains { $0.connection == connection } }

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
    let connection = pool.open(to: origin)
    if open[connection] != nil { violations.append("number \(connection) is given twice") }
    note(closed.contains(connection) ? .openedWithAnOldNumber : .opened, connection)
    closed.remove(connection)
    open[connection] = origin
  }

  private mutating func release() {
    guard let connection = open.keys.sorted().randomElement(using: &random) else { return }
    pool.release(connection, at: now)
    if isIdle(connection) { return note(.releasedTwice, connection) }
    idle.append(Idle(connection: connection, since: now))
    note(.released, connection)
  }

  private mutating func take() {
    let origin = Int.random(in: 0...origins, using: &random)
    let connection = pool.take(for: origin)
    let index = idle.lastIndex { open[$0.connection] == origin }
    let expected = index.map { idle.remove(at: $0).connection }
    if connection != expected { violations.append("took \(connection ?? -1) and not \(expected ?? -1)") }
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
      let isOld = idle.first.map { $0.since.advanced(bySeconds: lifetime) <= now } ?? false
      let expected = isTooMany || isOld ? idle.first?.connection : nil
      if due != expected { violations.append("surplus is \(due ?? -1) and not \(expected ?? -1)") }
      guard let due else { return }
      close(due, isOld ? .closedForAge : open.count > limit ? .closedForTheLimit : .closedForOthers)
    }
  }

  private mutating func check() {
    if pool.openCount != open.count { violations.append("\(pool.openCount) open and not \(open.count)") }
    if pool.idleCount != idle.count { violations.append("\(pool.idleCount) idle and not \(idle.count)") }
    if pool.nextEnd != idle.first?.since.advanced(bySeconds: lifetime) { violations.append("the next end is wrong") }
  }
}
