import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

@Suite("Schedule of checks") struct CheckScheduleTests {
  private func time(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 0).advanced(bySeconds: seconds) }

  @Test(arguments: [(0.0, 100.0), (0.25, 100.25), (1, 101)])
  func theFirstCheckComesWithinASecond(random: Double, due: Double) {
    var schedule = CheckSchedule(interval: 600, random: random, at: time(100))
    #expect(schedule.due == time(due))
    let begins = [99.9, due - 0.001, due].map { schedule.begin(random: 0, at: time($0)) }
    #expect(begins == [false, false, true])
  }

  @Test(arguments: [(0.0, 8.0), (0.5, 10), (1, 12)])
  func laterOnesComeAnIntervalAfterTheBegin(random: Double, due: Double) {
    var schedule = CheckSchedule(interval: 10, random: 0, at: time(0))
    let begins = [0.0, 20].map { schedule.begin(random: random, at: time($0)) }
    #expect(begins == [true, false], "the first one is still under way")
    schedule.end(at: time(1))
    #expect(abs(schedule.due.seconds(since: time(due))) < 1e-6)
  }

  @Test func aCheckThatTookTooLongIsFollowedAtOnce() {
    var schedule = CheckSchedule(interval: 10, random: 0, at: time(0))
    let first = schedule.begin(random: 0, at: time(0))
    schedule.end(at: time(10))
    let second = schedule.begin(random: 0, at: time(10))
    #expect(first && second)
  }

  // MARK: Turns

  @Test func turnsAreGivenInOrder() {
    var turns = CheckTurns<Int>(limit: 2)
    #expect((1...5).map { turns.take($0) } == [true, true, false, false, false])
    #expect(turns.next() == nil)
    turns.leave(3)
    turns.leave(1)
    #expect(turns.next() == 4)
    #expect(turns.next() == nil)
    turns.leave(2)
    turns.leave(9)
    #expect(turns.next() == 5)
    turns.leave(4)
    #expect(turns.next() == nil)
    #expect([turns.take(1), turns.take(6)] == [true, false])
    #expect(turns.underWay == [1, 5])
  }

  @Test func whatWaitsNoMoreLeavesNothingBehind() {
    var turns = CheckTurns<Int>(limit: 1)
    #expect([turns.take(0)] == [true])
    for number in 1...10_000 {
      _ = turns.take(number)
      if number > 1 { turns.leave(number - 1) }
    }
    #expect(turns.length <= 4)
    turns.leave(0)
    #expect(turns.next() == 10_000)
  }

  // MARK: Simulation

  /// 500 endpoints, of which some hang and some leave, for ten minutes.
  @Test(arguments: [UInt64(1), 2, 3]) func manyEndpointsAreCheckedInTime(seed: UInt64) {
    var simulation = ScheduleSimulation(endpoints: 500, interval: 10, seed: seed)
    simulation.run(seconds: 600)
    #expect(simulation.mostUnderWay <= EndpointChecks.limit)
    #expect(simulation.faults.isEmpty)
    #expect(simulation.first.values.allSatisfy { $0 <= 1.1 })
    let gaps = simulation.gaps
    #expect(gaps.allSatisfy { (8...13).contains($0) })
    let mean = gaps.reduce(0, +) / Double(gaps.count)
    #expect((9.8...10.3).contains(mean))
    // No second has more than twice its share of the checks once they are spread.
    #expect(simulation.perSecond.dropFirst(60).allSatisfy { $0 < 100 })
  }
}

/// Runs the schedules of endpoints by a clock of its own.
private struct ScheduleSimulation {
  private struct Endpoint {
    var schedule: CheckSchedule
    var ends: Double?
    var lastBegin: Double?
    var asks = true
  }

  private var endpoints: [Endpoint]
  private var turns = CheckTurns<Int>(limit: EndpointChecks.limit)
  private var random: SeededRandom
  private let zero = MonotonicTime(nanoseconds: 0)
  private var underWay: Set<Int> = []

  private(set) var first: [Int: Double] = [:]
  private(set) var gaps: [Double] = []
  private(set) var perSecond: [Int]
  private(set) var mostUnderWay = 0
  private(set) var faults: [String] = []

  init(endpoints count: Int, interval: Double, seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let zero = zero
    endpoints = (0..<count).map { _ in
      Endpoint(schedule: CheckSchedule(interval: interval, random: .random(in: 0..<1, using: &random), at: zero))
    }
    self.random = random
    perSecond = []
  }

  mutating func run(seconds: Int) {
    perSecond = Array(repeating: 0, count: seconds)
    for tick in 0..<(seconds * 50) { step(at: Double(tick) / 50) }
  }

  private mutating func step(at seconds: Double) {
    let now = zero.advanced(bySeconds: seconds)
    for number in endpoints.indices {
      if let ends = endpoints[number].ends, ends <= seconds {
        endpoints[number].ends = nil
        endpoints[number].asks = true
        endpoints[number].schedule.end(at: now)
        underWay.remove(number)
        turns.leave(number)
      } else if endpoints[number].asks, endpoints[number].schedule.due <= now {
        endpoints[number].asks = false
        if turns.take(number) { begin(number, at: seconds, now) }
      }
    }
    while let number = turns.next() { begin(number, at: seconds, now) }
  }

  private mutating func begin(_ number: Int, at seconds: Double, _ now: MonotonicTime) {
    if !underWay.insert(number).inserted { faults.append("\(number) is checked twice at once") }
    mostUnderWay = max(mostUnderWay, underWay.count)
    if !endpoints[number].schedule.begin(random: .random(in: 0..<1, using: &random), at: now) {
      faults.append("\(number) began too early")
    }
    if let last = endpoints[number].lastBegin { gaps.append(seconds - last) } else { first[number] = seconds }
    endpoints[number].lastBegin = seconds
    perSecond[Int(seconds)] += 1
    let hangs = number % 50 == 0
    endpoints[number].ends = seconds + (hangs ? 2 : Double.random(in: 0.001...0.1, using: &random))
  }
}
