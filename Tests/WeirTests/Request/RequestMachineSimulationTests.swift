import Foundation
import Testing
import WeirTestSupport

@testable import Weir

/// Drives machines through random interleavings of the caller's verbs and everybody's answers.
@Suite("RequestMachine simulation", .slow)
struct RequestMachineSimulationTests {
  private static let seeds =
    ProcessInfo.processInfo.environment["WEIR_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 20_000

  @Test("Interleavings settle exactly once, and cancel always wins")
  func interleavings() {
    var settledByCancel: UInt64 = 0
    var cancelledIn: Set<String> = []
    for seed in 0..<Self.seeds {
      var simulation = Simulation(seed: seed)
      simulation.run()
      #expect(simulation.violations.isEmpty, "seed \(seed): \(simulation.violations) after \(simulation.log)")
      if !simulation.violations.isEmpty { return }
      if simulation.wasCancelled { settledByCancel += 1 }
      cancelledIn.formUnion(simulation.cancelledIn)
    }
    #expect(settledByCancel > Self.seeds / 20, "the simulation has to cancel often")
    let stages = [
      "idle", "creating", "ready", "admitting", "transferring", "deciding", "delaying", "serializing",
      "decidingSerializer", "cancelling",
    ]
    for stage in stages { #expect(cancelledIn.contains(stage), "never cancelled in \(stage)") }
  }
}

/// A request whose shell is a list of answers on their way.
private struct Simulation {
  private enum Pending {
    case verb, creation(UInt32), admission(UInt32), transfer, retriers(UInt32), delay, value(Int, UInt32)
  }

  private var machine = RequestMachine()
  private var random: SeededRandom
  private var pending: [Pending] = []
  private var isOnWire = false
  private var isTimerArmed = false
  private var settles = 0
  private var handlers = 1
  private var attemptsAfterCancel = 0
  private(set) var wasCancelled = false
  private(set) var cancelledIn: Set<String> = []
  private(set) var violations: [String] = []
  private(set) var log: [String] = []

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
  }

  mutating func run() {
    for _ in 0..<60 {
      step()
      if settles > 0, pending.isEmpty { break }
    }
    // Whoever still waits is woken, whatever was held up is let go.
    verb(.resume)
    var budget = 400
    while machine.stage != .settled, budget > 0 {
      budget -= 1
      if pending.isEmpty {
        verb(.resume)
        if pending.isEmpty { break }
      }
      answer(allowRetry: budget > 200)
    }
    check()
  }

  private mutating func check() {
    if settles != 1 { violations.append("settled \(settles) times") }
    if isOnWire { violations.append("a transfer is left on the wire") }
    if wasCancelled, machine.state != .cancelled { violations.append("cancel lost: \(machine.state)") }
    if !wasCancelled, machine.state != .finished { violations.append("ended as \(machine.state)") }
    if attemptsAfterCancel > 0 { violations.append("started after cancel") }
  }

  private mutating func step() {
    switch random.next() % 11 {
    case 0: verb(.resume)
    case 1: verb(.suspend)
    case 2 where random.next() % 4 == 0: cancel()
    case 3: if machine.stage != .settled { handlers += 1 }
    case 4 where random.next() % 12 == 0:
      log.append("deadline")
      perform(machine.fail())
    default: answer(allowRetry: true)
    }
  }

  private mutating func verb(_ verb: RequestMachine.Verb) {
    log.append("\(verb)")
    if machine.act(verb) { pending.append(.verb) }
  }

  private mutating func cancel() {
    let stage = "\(machine.stage)".split(separator: "(").first.map(String.init) ?? ""
    log.append("cancel in \(stage)")
    guard machine.act(.cancel) else { return }
    wasCancelled = true
    cancelledIn.insert(stage)
    pending.append(.verb)
  }

  /// What the loop does when it hears of a verb.
  private mutating func hear() {
    if let heard = machine.hear() { perform(heard.action) }
  }

  private mutating func answer(allowRetry: Bool) {
    guard !pending.isEmpty else { return }
    let next = pending.remove(at: Int(random.next() % UInt64(pending.count)))
    log.append("\(next)")
    let fails = random.next() % 3 == 0
    switch next {
    case .verb: hear()
    case .creation(let step): perform(fails ? machine.creationFailed(step) : machine.created(step))
    case .admission(let step):
      if fails {
        perform(machine.rejected(step))
      } else if machine.admitted(step) {
        if wasCancelled { attemptsAfterCancel += 1 }
        isOnWire = true
        pending.append(.transfer)
      }
    case .transfer:
      isOnWire = false
      perform(machine.transferEnded(failed: fails))
    case .retriers(let step):
      let wantsRetry = allowRetry && random.next() % 2 == 0
      perform(machine.decided(wantsRetry ? .retry(after: 1) : .stop, step))
    case .delay:
      isTimerArmed = false
      perform(machine.delayElapsed())
    case .value(let index, let step):
      perform(machine.serialized(index, asksRetriers: fails, step))
    }
  }

  private mutating func nextHandler() {
    perform(machine.nextHandler(of: handlers))
  }

  private mutating func perform(_ action: RequestMachine.Action) {
    switch action {
    case .none, .hold, .suspendTransfer, .resumeTransfer: break
    case .create, .retry: pending.append(.creation(machine.step))
    case .start: pending.append(.admission(machine.step))
    case .cancelTransfer: if !isOnWire { perform(machine.transferEnded(failed: true)) }
    case .askRetriers: pending.append(.retriers(machine.step))
    case .wait:
      if !isTimerArmed { pending.append(.delay) }
      isTimerArmed = true
    case .finish:
      _ = machine.finishing(hasHandlers: handlers > 0)
      nextHandler()
    case .nextHandler: nextHandler()
    case .serialize(let index): pending.append(.value(index, machine.step))
    case .settle:
      settles += 1
      machine.delivered()
    }
  }
}
