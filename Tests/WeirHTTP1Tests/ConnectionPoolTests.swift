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
    for (index, origin) in origins.enumerated() { #expect(pool.open(to: origin) == index) }
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
    #expect(pool.open(to: 7) == 1)
    #expect(pool.take(for: 1) == nil)
    #expect(pool.take(for: 7) == nil)
    pool.release(1, at: Self.time(1))
    #expect(pool.take(for: 1) == nil)
    #expect(pool.take(for: 7) == 1)
    #expect(pool.open(to: 0) == 3)
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

  @Test func tooManyConnections() {
    var pool = Self.pool([0, 1, 2], limit: 3)
    pool.release(2, at: Self.time(0))
    pool.release(0, at: Self.time(1))
    #expect(pool.surplus(at: Self.time(1)) == nil)
    #expect(pool.surplus(at: Self.time(1), others: 1) == 2)
    #expect(pool.open(to: 3) == 3)
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
