import Foundation
import Testing
import WeirTestSupport

@testable import WeirTransport

/// Exchanges with their attempts, second ones among them, several to one destination of few slots, through random
/// interleavings of what callers, the upstream and timers do.
///
/// The exchanges are run by the shipped ``ExchangeRun``. `WEIR_SIMULATION_SEEDS` says how many runs there are; 5,000
/// without it.
@Suite("ExchangeRun simulation", .slow, .timeLimit(.minutes(10)))
struct ExchangeSimulationTests {
  private static let seeds =
    ProcessInfo.processInfo.environment["WEIR_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 5_000

  @Test("No slot is lost, the caller gets one response, and every exchange settles once")
  func interleavings() {
    var seen: Set<String> = []
    for seed in 0..<Self.seeds {
      let world = World(seed: seed)
      world.run()
      if !world.violations.isEmpty {
        let again = World(seed: seed, keepsLog: true)
        again.run()
        Issue.record("seed \(seed): \(world.violations) after \(again.log.joined(separator: ", "))")
        return
      }
      seen.formUnion(world.seen)
    }
    for event in Self.events { #expect(seen.contains(event), "never: \(event)") }
  }

  private static let events = [
    "end in idle", "end in preparing", "end in trying", "end in deciding(atHead: true)",
    "end in deciding(atHead: false)",
    "end in discarding", "end in delaying", "end in passing", "end in a queue", "end in a race", "end while draining",
    "a slot comes too late", "queue full", "admission timeout", "circuit open", "no transfer", "not prepared",
    "retry at the head", "retry after a failure", "retry after a take-back", "denied at the head",
    "denied after a failure", "denied again", "refused for the destination's sake", "passed on without being asked",
    "not taken back", "bad response", "body given up", "slow caller", "draining",
    "hedge", "no room for a hedge", "room for a hedge was taken", "the hedge wins", "the first wins",
    "the hedge is out", "the first is out", "all fail", "hedge in a retry",
  ]
}

extension ExchangeSimulationTests {
  /// One destination and three exchanges to it, on one loop.
  final class World {
    private var random: SeededRandom
    var admission: Admission<Int>
    private var waiters: [Int: (attempt: Attempt, question: AttemptMachine.Question)] = [:]
    private var lastWaiter = 0
    private var pending: [Event] = []
    private let keepsLog: Bool
    private(set) var violations: [String] = []
    private(set) var log: [String] = []
    private(set) var seen: Set<String> = []
    private var exchanges: [Exchange] = []

    /// A job of the loop, or the end of a transfer that libcurl reports.
    private enum Event {
      case slot(Attempt, AttemptMachine.Question)
      case cancelled(Attempt)
    }

    init(seed: UInt64, keepsLog: Bool = false) {
      random = SeededRandom(seed: seed)
      self.keepsLog = keepsLog
      admission = Admission(slots: 1 + Int(random.next() % 3), maximumWaiting: 1 + Int(random.next() % 2))
      exchanges = (0..<3).map { Exchange(number: $0, world: self) }
    }

    func run() {
      for _ in 0..<120 where !isOver { step() }
      var budget = 2_000
      while !isOver, budget > 0 {
        budget -= 1
        if !pending.isEmpty { answer() } else { for exchange in exchanges { exchange.goToTheEnd() } }
        check()
      }
      for exchange in exchanges { exchange.checkEnd() }
      if admission.taken != 0 || admission.parked != 0 || admission.waiting != 0 {
        violate("left: \(admission.taken) slots, \(admission.parked) parked, \(admission.waiting) waiting")
      }
    }

    private var isOver: Bool { pending.isEmpty && exchanges.allSatisfy { $0.settles > 0 } }

    func chance(_ of: UInt64) -> Bool { random.next() % of == 0 }

    func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    func see(_ event: String) { seen.insert(event) }

    func violate(_ violation: String) { violations.append(violation) }

    func note(_ text: @autoclosure () -> String) {
      if keepsLog { log.append(text()) }
    }

    private func step() {
      if !pending.isEmpty, chance(2) { answer() } else { exchanges[pick(exchanges.count)].act() }
      check()
    }

    private func answer() {
      switch pending.remove(at: pick(pending.count)) {
      case .slot(let attempt, let question):
        note("\(attempt): slot")
        attempt.granted(question)
      case .cancelled(let attempt):
        note("\(attempt): cancelled")
        attempt.transferEnds(failing: true)
      }
    }

    private func check() {
      if admission.taken > admission.slots { violate("\(admission.taken) slots are taken") }
      let held = exchanges.reduce(0) { $0 + $1.heldSlots }
      if held != admission.taken { violate("attempts hold \(held) of \(admission.taken) slots") }
      for exchange in exchanges { exchange.check() }
    }

    // MARK: What is asked of the destination

    /// Asks for a first slot.
    func ask(_ attempt: Attempt) -> Admission<Int>.Answer {
      lastWaiter += 1
      let answer = admission.ask(lastWaiter)
      if case .waiting = answer { waiters[lastWaiter] = (attempt, attempt.machine.question) }
      return answer
    }

    func release() {
      guard let entry = admission.release(), let waiter = waiters.removeValue(forKey: entry.waiter) else { return }
      waiter.attempt.slots += 1
      pending.append(.slot(waiter.attempt, waiter.question))
    }

    func cancelled(_ attempt: Attempt) { pending.append(.cancelled(attempt)) }
  }
}

extension ExchangeSimulationTests {
  /// The exchange with the caller.
  struct Caller {
    private(set) var hasResponse = false
    /// Whether there is something that it has not taken.
    private(set) var hasUnsent = false
    /// Whether it may have some of the response.
    private var hasSome = false
    private var isBlocked = false

    mutating func begin() {
      hasResponse = true
      hasUnsent = true
    }

    /// Takes a piece; false when it is the last for now.
    mutating func write(isBlocked: Bool) -> Bool {
      hasUnsent = true
      if isBlocked { self.isBlocked = true }
      return !isBlocked
    }

    /// It takes all. Returns whether that was waited for.
    mutating func take() -> Bool {
      defer { isBlocked = false }
      hasUnsent = false
      hasSome = true
      return isBlocked
    }

    /// Takes the response back, unless the caller may have some of it.
    mutating func retract() -> Bool {
      guard hasResponse, !hasSome else { return false }
      self = Caller()
      return true
    }

    mutating func end() { self = Caller() }
  }
}
