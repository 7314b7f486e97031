import Testing
import WeirIO
import WeirResolver

@Suite struct LookupScheduleTests {
  private let now = MonotonicTime(nanoseconds: 1_000_000_000_000)

  struct Case {
    let kind: Question.Kind
    let ttl: Double?
    let random: Double
    let wait: Double
  }

  @Test(arguments: [
    Case(kind: .addresses, ttl: 10, random: 0, wait: 10),
    Case(kind: .addresses, ttl: 10, random: 0.5, wait: 9.5),
    Case(kind: .addresses, ttl: 10, random: 1, wait: 9),
    Case(kind: .addresses, ttl: nil, random: 0, wait: 2),
    Case(kind: .addresses, ttl: nil, random: 1, wait: 1.8),
    Case(kind: .addresses, ttl: 0, random: 0, wait: 2),
    Case(kind: .addresses, ttl: 1.999, random: 0, wait: 2),
    Case(kind: .addresses, ttl: 30, random: 0, wait: 30),
    Case(kind: .addresses, ttl: 2_147_483_647, random: 0, wait: 30),
    Case(kind: .addresses, ttl: 2_147_483_647, random: 1, wait: 27),
    Case(kind: .services, ttl: nil, random: 0, wait: 10),
    Case(kind: .services, ttl: 25, random: 0, wait: 10),
    Case(kind: .services, ttl: nil, random: 1, wait: 9),
  ])
  func waitAfterAnAnswer(_ row: Case) {
    var schedule = LookupSchedule(minimum: 2, maximum: 30)
    let due = schedule.answered(row.kind, ttl: row.ttl, at: now, random: row.random)
    #expect(abs(due.seconds(since: now) - row.wait) < 1e-6)
  }

  @Test(arguments: [(1.0, 4.0, 4.0), (15, 60, 15), (3600, 3600, 3600)])
  func servicesKeepToTheBoundsToo(_ minimum: Double, _ maximum: Double, _ wait: Double) {
    var schedule = LookupSchedule(minimum: minimum, maximum: maximum)
    let due = schedule.answered(.services, ttl: nil, at: now, random: 0)
    #expect(abs(due.seconds(since: now) - wait) < 1e-6)
  }

  @Test func failuresDoubleTheWaitUntilAnAnswer() {
    var schedule = LookupSchedule(minimum: 1, maximum: 10)
    func failures(_ count: Int) -> [Double] {
      (0..<count).map { _ in schedule.failed(at: now).seconds(since: now).rounded() }
    }
    #expect(failures(6) == [1, 2, 4, 8, 10, 10])
    _ = schedule.answered(.addresses, ttl: 5, at: now, random: 0)
    #expect(failures(3) == [1, 2, 4])
  }

  @Test func boundsInTheWrongOrderMeanTheMinimum() {
    var schedule = LookupSchedule(minimum: 5, maximum: 1)
    #expect(schedule.answered(.addresses, ttl: 60, at: now, random: 0).seconds(since: now).rounded() == 5)
    #expect(schedule.failed(at: now).seconds(since: now).rounded() == 5)
    #expect(schedule.failed(at: now).seconds(since: now).rounded() == 5)
  }

  @Test func endOfTimeIsNoTrap() {
    var schedule = LookupSchedule(minimum: 1, maximum: 3600)
    let late = MonotonicTime(nanoseconds: .max - 1)
    #expect(schedule.answered(.addresses, ttl: 3600, at: late, random: 0) == .distantFuture)
    #expect(schedule.failed(at: late) == .distantFuture)
  }
}
