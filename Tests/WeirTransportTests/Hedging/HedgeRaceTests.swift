import Testing
import WeirIO

@testable import WeirTransport

@Suite("HedgeRace")
struct HedgeRaceTests {
  private static func race(_ runners: Int...) -> HedgeRace {
    var race = HedgeRace(limit: 2)
    race.begins(runners[0])
    for runner in runners.dropFirst() {
      race.grant()
      race.joins(runner)
    }
    return race
  }

  @Test(
    "The first head that is no failure wins, whoever brings it", arguments: [1, 2], [200, 204, 301, 404, 407, 499])
  func firstGoodHead(number: Int, status: Int) {
    var race = Self.race(1, 2)
    #expect(race.headArrived(number, status: status) == .wins)
    #expect(!race.isOpen)
    #expect(race.headArrived(3 - number, status: 200) == nil, "the other one comes too late")
    #expect(race.fails(3 - number) == nil)
  }

  @Test(
    "A head that says no more than a failure is out while another attempt runs", arguments: [408, 425, 429, 500, 503])
  func badHead(status: Int) {
    var race = Self.race(1, 2)
    #expect(race.headArrived(1, status: status) == .isOut(successor: 2))
    #expect(race.headArrived(2, status: status) == .isLast, "the last one is the answer, whatever it is")
    #expect(!race.isOpen)
  }

  @Test("Of several that fail the last is the answer")
  func failures() {
    var race = Self.race(1, 2, 3)
    #expect(race.fails(2) == .isOut(successor: 1))
    #expect(race.fails(2) == nil)
    #expect(race.fails(1) == .isOut(successor: 3))
    #expect(race.fails(3) == .isLast)
  }

  @Test("An attempt that is alone is not judged")
  func alone() {
    var race = Self.race(1)
    #expect(race.headArrived(1, status: 503) == .isLast)
    race.begins(2)
    #expect(race.fails(2) == .isLast)
    race.begins(3)
    race.abandon()
    #expect(race.headArrived(3, status: 200) == nil)
  }

  @Test("The limit counts what was granted, over all of the request's attempts")
  func limit() {
    var race = HedgeRace(limit: 2)
    #expect(!race.mayHedge, "nothing is under way")
    race.begins(1)
    race.grant()
    #expect(race.mayHedge)
    race.joins(2)
    _ = race.fails(1)
    _ = race.fails(2)
    race.begins(3)
    #expect(race.mayHedge)
    race.grant()
    #expect(!race.mayHedge)
    #expect(!HedgeRace(limit: -1).mayHedge)
  }
}

@Suite("RecentLatencies")
struct RecentLatenciesTests {
  private static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: Int64((1_000_000 + seconds) * 1e9))
  }

  @Test("A quantile is within a tenth of the true one", arguments: [0.5, 0.9, 0.95, 0.99])
  func quantiles(share: Double) throws {
    var latencies = RecentLatencies()
    for index in 1...1_000 { latencies.note(Double(index) / 1_000, at: Self.time(0)) }
    let found = try #require(latencies.quantile(share, at: Self.time(1)))
    #expect(found >= share * 0.999 && found <= share * 1.101, "\(found)")
  }

  @Test("Fewer than 100 in the last minute say nothing, and what is older is forgotten")
  func window() {
    var latencies = RecentLatencies()
    for _ in 0..<99 { latencies.note(1, at: Self.time(0)) }
    #expect(latencies.quantile(0.95, at: Self.time(0)) == nil)
    latencies.note(1, at: Self.time(5))
    #expect(latencies.quantile(0.95, at: Self.time(59)) != nil)
    #expect(latencies.quantile(0.95, at: Self.time(80)) == nil)
    for _ in 0..<100 { latencies.note(0.01, at: Self.time(100)) }
    #expect((latencies.quantile(0.95, at: Self.time(100)) ?? 1) < 0.012)
  }

  @Test("Whatever is asked for is answered", arguments: [0, 0.5, 1, 2, -1, .infinity, .nan])
  func shares(share: Double) {
    var latencies = RecentLatencies()
    for _ in 0..<100 { latencies.note(0.1, at: Self.time(0)) }
    #expect(latencies.quantile(share, at: Self.time(0)) != nil)
  }

  @Test("Latencies beyond all bounds count as the first and the last", arguments: [0, -1, 1e9, .infinity])
  func bounds(seconds: Double) {
    var latencies = RecentLatencies()
    for _ in 0..<100 { latencies.note(seconds, at: Self.time(0)) }
    #expect(latencies.quantile(0.5, at: Self.time(0)) != nil)
  }
}
