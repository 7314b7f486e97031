import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// One workload in virtual time: a machine, its shell, callers and an API. It calls the machine as the shell does, with timers
/// and a network that are up to a millisecond late.
struct PaceSimulation {
  private enum Event {
    case arrival
    case retry
    /// An attempt reaches the API.
    case reached(Int)
    case answer(Int, SimulatedAPI.Answer)
    case wake
  }

  private struct Attempt {
    /// Until when it waits at most; nil if it began at once.
    var bound: Double?
    var ticket: PaceMachine.Ticket?
    let isRetry: Bool
  }

  /// The most by which timers and the network are late.
  private static let lateness = 0.001
  /// Retries per request.
  private static let budget = 0.2

  let workload: PaceWorkload
  private(set) var result = PaceResult()
  private(set) var machine: PaceMachine
  private var api: SimulatedAPI
  private var random: SeededRandom
  private var events = EventHeap<Event>()
  private var attempts: [Attempt] = []
  private var waiting: [PaceMachine.Ticket: Int] = [:]
  private var now = 0.0
  private var wake: Double?
  private var underWay = 0
  private var requests = 0
  private var retries = 0
  // What is true, found out independently of the machine.
  private var pausedUntil = 0.0
  /// Attempts that have begun and the rate has not yet made up for.
  private var level = 0.0
  private var lastBegin = 0.0

  init(_ workload: PaceWorkload, seed: UInt64) {
    self.workload = workload
    machine = PaceMachine(workload.settings, at: Self.time(0))
    api = SimulatedAPI(workload.api, seed: ~seed)
    random = SeededRandom(seed: seed)
    events.push(.arrival, at: 0)
  }

  private static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000_000 + Int64((seconds * 1e9).rounded()))
  }

  private var time: MonotonicTime { Self.time(now) }

  private mutating func late() -> Double { .random(in: 0...Self.lateness, using: &random) }

  mutating func run() {
    while let (time, event) = events.pop() {
      now = time
      switch event {
      case .arrival: requestComes()
      case .retry: ask(isRetry: true)
      case .reached(let attempt):
        events.push(.answer(attempt, api.answer(at: now)), at: now + api.takes(at: now) + late())
      case .answer(let attempt, let answer): answered(attempt, answer)
      case .wake: woke()
      }
      decide()
    }
    expect(machine.attempts.waiting == 0 && waiting.isEmpty, "attempts wait for ever")
    expect(machine.attempts.onWire == 0 && underWay == 0, "attempts are under way for ever")
  }

  /// Of so many attempts that come at once now, the number of those that go.
  func goAtOnce(_ count: Int) -> Int {
    var machine = machine
    return (0..<count).count { _ in if case .goes = machine.arrived(at: time) { true } else { false } }
  }

  // MARK: Requests

  private mutating func requestComes() {
    for _ in 0..<workload.arrivals.burst {
      requests += 1
      ask(isRetry: false)
    }
    let next = now + workload.arrivals.gap(&random)
    if next < workload.seconds { events.push(.arrival, at: next) }
  }

  private mutating func ask(isRetry: Bool) {
    result.asked += 1
    let wait = workload.settings.wait
    let timeout = workload.timeout
    switch machine.arrived(timeout: timeout, isRetry: isRetry, at: time) {
    case .goes(let ticket):
      attempts.append(Attempt(ticket: ticket, isRetry: isRetry))
      begin(attempts.count - 1)
    case .waits(let ticket):
      waiting[ticket] = attempts.count
      attempts.append(Attempt(bound: now + min(wait, timeout ?? wait), ticket: ticket, isRetry: isRetry))
    case .refused(let refusal):
      result.refused += 1
      expect(refusal.retryAfter > 0, "a refusal without a time")
    }
  }

  /// Takes the decisions that are due, and sets the alarm.
  private mutating func decide() {
    while let verdict = machine.verdict(at: time) {
      guard let attempt = waiting.removeValue(forKey: verdict.ticket) else {
        expect(false, "a verdict on an attempt that does not wait")
        continue
      }
      let late = now - (attempts[attempt].bound ?? 0)
      expect(late <= 2 * Self.lateness, "a decision after the bound")
      if verdict.refusal == nil { begin(attempt) } else { result.refused += 1 }
    }
    guard let next = machine.nextWake(at: time) else { return }
    expect(next > time, "the machine wants to be asked at once")
    let seconds = next.seconds(since: Self.time(0))
    if wake.map({ seconds < $0 }) ?? true {
      wake = seconds
      events.push(.wake, at: max(seconds, now) + late())
    }
  }

  private mutating func woke() {
    guard let wake, wake <= now else { return }
    self.wake = nil
    let isDue = machine.nextWake(at: time).map { $0 <= time } ?? false
    let before = machine.attempts.waiting
    decide()
    expect(!isDue || machine.attempts.waiting < before, "a wake without a decision")
  }

  private mutating func begin(_ attempt: Int) {
    result.begun.append(now)
    underWay += 1
    expect(now >= pausedUntil - 1e-8, "an attempt begins in a pause")
    if let rate = workload.settings.rate {
      level = max(0, level - rate * (now - lastBegin)) + 1
      lastBegin = now
      let late = rate * PaceSettings.lateness
      expect(level <= Double(workload.settings.burst) + late, "more begins than the rate and the burst allow")
    }
    events.push(.reached(attempt), at: now + late())
  }

  private mutating func answered(_ attempt: Int, _ answer: SimulatedAPI.Answer) {
    underWay -= 1
    if answer.isRefusal { result.tooMany += 1 }
    if answer.status == 200 { result.good.append(now) }
    let ticket = attempts[attempt].ticket
    if machine.answered(ticket, pause: answer.pause.map { min($0, PaceSettings.longestPause) }, at: time) {
      result.pauses += 1
      result.underWayAtPauses += underWay
    }
    if let pause = answer.pause {
      pausedUntil = max(pausedUntil, now + min(pause, PaceSettings.longestPause))
      result.lastPauseEnd = pausedUntil
    }
    if answer.status != 200, !attempts[attempt].isRetry { retry(after: max(0.1, answer.retryAfter ?? 0)) }
  }

  private mutating func retry(after delay: Double) {
    guard Double(retries) < Self.budget * Double(requests), now + delay < workload.seconds,
      machine.allowsRetry(after: delay, by: Self.time(now + 30), at: time)
    else { return }
    retries += 1
    events.push(.retry, at: now + delay)
  }

  private mutating func expect(_ condition: Bool, _ text: String) {
    if !condition { result.violations.append("\(now): \(text)") }
  }
}

/// What has come of a workload.
struct PaceResult {
  /// Times.
  var begun: [Double] = []
  var good: [Double] = []
  var asked = 0
  var refused = 0
  /// Answers of 429.
  var tooMany = 0
  var pauses = 0
  /// The other attempts that were under way when pauses began, all together.
  var underWayAtPauses = 0
  var lastPauseEnd = 0.0
  var violations: [String] = []
}
