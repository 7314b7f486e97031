import Testing
import WeirHTTP1
import WeirIO

/// The pool as a value: lines of calls and their results.
@Suite struct ConnectionPoolTests {
  private static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000).advanced(bySeconds: seconds)
  }

  /// A pool whose connections 0 and on lead to these origins, all in use.
  private static func pool(_ origins: [Int], idleLifetime: Double = 60, limit: Int = 100) -> ConnectionPool {
    var pool = ConnectionPool(idleLifetime: idleLifetime, limit: limit)
    for (index, origin) in origins.enumerated() { #expect(pool.open(to: origin, at: Self.time(0)) == index) }
    return pool
  }

  @Test func anEmptyPool() {
    var pool = Self.pool([])
    #expect(pool.take(for: 0) == nil)
    #expect(pool.take(for: -1) == nil)
    #expect(pool.surplus(at: Self.time(1e6), others: 1000) == nil)
    #expect(pool.nextEnd == nil)
    pool.release(0, at: Self.time(0))
    pool.close(0)
    pool.close(-1)
    #expect(pool.openCount == 0 && pool.idleCount == 0)
  }

  @Test func theLastOneUsedComesFirst() {
    var pool = Self.pool([0, 0, 0, 1])
    for (second, connection) in [1, 3, 0, 2].enumerated() { pool.release(connection, at: Self.time(Double(second))) }
    #expect(pool.idleCount == 4)
    #expect([pool.take(for: 0), pool.take(for: 0), pool.take(for: 0), pool.take(for: 0)] == [2, 0, 1, nil])
    #expect(pool.take(for: 1) == 3)
    #expect(pool.take(for: 2) == nil)
    #expect(pool.openCount == 4 && pool.idleCount == 0)
  }

  @Test func aConnectionInUseIsNotGivenAgain() {
    var pool = Self.pool([0])
    #expect(pool.take(for: 0) == nil)
    pool.release(0, at: Self.time(0))
    pool.release(0, at: Self.time(1))
    #expect(pool.idleCount == 1)
    #expect(pool.nextEnd == Self.time(60))
    #expect(pool.take(for: 0) == 0)
    #expect(pool.take(for: 0) == nil)
  }

  /// The end of a connection and its reuse, in either order.
  @Test func theEndOfAnIdleConnection() {
    var pool = Self.pool([0, 0])
    pool.release(0, at: Self.time(0))
    pool.release(1, at: Self.time(1))
    pool.close(1)
    #expect(pool.take(for: 0) == 0)
    pool.close(0)
    pool.release(0, at: Self.time(2))
    pool.close(0)
    #expect(pool.take(for: 0) == nil)
    #expect(pool.openCount == 0 && pool.idleCount == 0)
    #expect(pool.nextEnd == nil)
  }

  @Test func numbersAreGivenAgain() {
    var pool = Self.pool([0, 1, 2])
    pool.release(1, at: Self.time(0))
    pool.close(1)
    #expect(pool.open(to: 7, at: Self.time(0)) == 1)
    #expect(pool.take(for: 1) == nil)
    #expect(pool.take(for: 7) == nil)
    pool.release(1, at: Self.time(1))
    #expect(pool.take(for: 1) == nil)
    #expect(pool.take(for: 7) == 1)
    #expect(pool.open(to: 0, at: Self.time(0)) == 3)
  }

  @Test func theEndOfTheIdleLifetime() {
    var pool = Self.pool([0, 1], idleLifetime: 10)
    pool.release(1, at: Self.time(0))
    pool.release(0, at: Self.time(3))
    #expect(pool.nextEnd == Self.time(10))
    #expect(pool.surplus(at: Self.time(9.999)) == nil)
    #expect(pool.surplus(at: Self.time(10)) == 1)
    // It stays due until it is closed or taken.
    #expect(pool.surplus(at: Self.time(10)) == 1)
    pool.close(1)
    #expect(pool.surplus(at: Self.time(12.999)) == nil)
    #expect(pool.nextEnd == Self.time(13))
    #expect(pool.take(for: 0) == 0)
    #expect(pool.surplus(at: Self.time(100)) == nil)
    pool.release(0, at: Self.time(50))
    #expect(pool.nextEnd == Self.time(60))
  }

  /// The second origin's connections have a short idle lifetime, the third one's a long one and a limited age.
  private static func mixedPool(limit: Int = 100) -> ConnectionPool {
    var pool = pool([0], limit: limit)
    #expect(pool.open(to: 1, at: time(0), under: .init(idleLifetime: 2)) == 1)
    for number in 2..<4 {
      let terms = ConnectionPool.Terms(idleLifetime: 1000, maximumAge: 10)
      #expect(pool.open(to: 2, at: time(Double(number)), under: terms) == number)
    }
    return pool
  }

  @Test func eachOriginHasItsIdleLifetime() {
    var pool = Self.mixedPool()
    pool.release(0, at: Self.time(0))
    #expect(pool.nextEnd == Self.time(60))
    pool.release(1, at: Self.time(5))
    #expect(pool.nextEnd == Self.time(7))
    #expect(pool.end(of: 0) == Self.time(60) && pool.end(of: 1) == Self.time(7))
    #expect(pool.surplus(at: Self.time(6.999)) == nil)
    #expect(pool.surplus(at: Self.time(7)) == 1)
    // Taken at that moment, it is not to be used.
    #expect(pool.take(for: 1) == 1)
    #expect(pool.isOver(1, at: Self.time(7)) && !pool.isOver(1, at: Self.time(6.999)))
    pool.close(1)
    #expect(pool.surplus(at: Self.time(59.999)) == nil)
    #expect(pool.nextEnd == Self.time(60))
    #expect(pool.surplus(at: Self.time(60)) == 0)
  }

  @Test func theAgeOfIdleConnections() {
    var pool = Self.mixedPool()
    pool.release(3, at: Self.time(4))
    pool.release(2, at: Self.time(5))
    #expect(pool.nextEnd == Self.time(12))
    #expect(pool.end(of: 2) == Self.time(12) && pool.end(of: 3) == Self.time(13))
    #expect(pool.surplus(at: Self.time(11.999)) == nil)
    #expect(pool.surplus(at: Self.time(12)) == 2)
    #expect(pool.take(for: 2) == 2 && pool.isOver(2, at: Self.time(12)))
    pool.close(2)
    #expect(pool.nextEnd == Self.time(13))
    #expect(pool.surplus(at: Self.time(13)) == 3)
  }

  /// A connection in use reaches its age: it is passed over, and the younger one's age is still heeded.
  @Test func theAgeOfConnectionsInUse() {
    var pool = Self.mixedPool()
    pool.release(3, at: Self.time(4))
    #expect(pool.nextEnd == Self.time(12), "the time of the one in use")
    #expect(!pool.isTooOld(2, at: Self.time(11.999)))
    #expect(pool.surplus(at: Self.time(12)) == nil)
    #expect(pool.isTooOld(2, at: Self.time(12)))
    #expect(pool.nextEnd == Self.time(13))
    #expect(pool.surplus(at: Self.time(13)) == 3)
    pool.close(3)
    pool.close(2)
    #expect(pool.nextEnd == nil && pool.openCount == 2)
  }

  @Test func tooManyConnectionsUnderSeveralTerms() {
    var pool = Self.mixedPool(limit: 1)
    for (second, connection) in [2, 0, 1, 3].enumerated() { pool.release(connection, at: Self.time(Double(second))) }
    var closed: [Int] = []
    while let connection = pool.surplus(at: Self.time(4)) {
      closed.append(connection)
      pool.close(connection)
    }
    #expect(closed == [2, 0, 1], "the one that has been idle longest comes first")
  }

  /// Terms come and go with configurations; a number of them that are not in use any more takes no memory.
  @Test func termsOutOfUseMakePlace() {
    var pool = Self.pool([])
    #expect(!pool.hasOwnTerms)
    for round in 1..<1000 {
      let terms = ConnectionPool.Terms(idleLifetime: Double(round), maximumAge: Double(round) + 5)
      #expect(pool.open(to: round % 3, at: Self.time(0), under: terms) == 0)
      pool.release(0, at: Self.time(0))
      #expect(pool.nextEnd == Self.time(Double(round)))
      pool.close(0)
    }
    #expect(pool.open(to: 0, at: Self.time(0)) == 0)
    pool.release(0, at: Self.time(0))
    #expect(pool.nextEnd == Self.time(60))
  }

  @Test func tooManyConnections() {
    var pool = Self.pool([0, 1, 2], limit: 3)
    pool.release(2, at: Self.time(0))
    pool.release(0, at: Self.time(1))
    #expect(pool.surplus(at: Self.time(1)) == nil)
    #expect(pool.surplus(at: Self.time(1), others: 1) == 2)
    #expect(pool.open(to: 3, at: Self.time(0)) == 3)
    #expect(pool.surplus(at: Self.time(1)) == 2)
    pool.close(2)
    #expect(pool.surplus(at: Self.time(1)) == nil)
    #expect(pool.surplus(at: Self.time(1), others: 1000) == 0)
    pool.close(0)
    // Connections in use are never surplus.
    #expect(pool.surplus(at: Self.time(1000), others: 1000) == nil)
  }

  @Test(arguments: [0, -1, -.infinity] as [Double]) func noIdleLifetime(lifetime: Double) {
    var pool = Self.pool([0], idleLifetime: lifetime)
    pool.release(0, at: Self.time(0))
    #expect(pool.surplus(at: Self.time(0)) == 0)
  }

  @Test(arguments: [0, -1, Int.min]) func aLimitOfLessThanOneIsOne(limit: Int) {
    var pool = Self.pool([0, 0], limit: limit)
    pool.release(0, at: Self.time(0))
    #expect(pool.surplus(at: Self.time(0)) == 0)
    pool.close(0)
    pool.release(1, at: Self.time(0))
    #expect(pool.surplus(at: Self.time(0)) == nil)
  }
}
