import Foundation
import Testing
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// Requests with their attempts, hedges among them, several to one destination of few slots, their bodies going to memory,
/// to handlers or to files, through random interleavings of what callers, servers and the caller's code do.
///
/// The requests are run by the shipped ``ExchangeRun``. `WEIR_SIMULATION_SEEDS` says how many; 5,000 without it.
@Suite("AttemptMachine simulation", .slow, .timeLimit(.minutes(10)))
struct AttemptMachineSimulationTests {
  private static let seeds =
    ProcessInfo.processInfo.environment["WEIR_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 5_000

  @Test("No slot is lost, nothing moves without one, and every request settles once")
  func interleavings() {
    var seen: Set<String> = []
    for seed in 0..<Self.seeds {
      let world = World(seed: seed)
      world.run()
      #expect(world.violations.isEmpty, "seed \(seed): \(world.violations) after \(world.log)")
      if !world.violations.isEmpty { return }
      seen.formUnion(world.seen)
    }
    for what in [
      "waiting", "due", "onWire", "draining", "parked", "asking again", "refused parking", "queue full",
      "hedge", "hedge wins", "first wins", "hedge out", "first out", "cancel in race", "both fail",
      "parked for sink", "cancel in parked for sink", "vacated", "cancel in vacated", "awaited", "cancel in awaited",
      "receiver fails", "sends again", "request's idle", "request's creating", "request's ready", "request's admitting",
      "request's transferring", "request's deciding", "request's delaying", "request's serializing",
      "request's decidingSerializer", "request's cancelling",
    ] {
      #expect(seen.contains("cancel in \(what)") || seen.contains(what), "never: \(what)")
    }
  }
}

extension AttemptMachineSimulationTests {
  /// One destination and three requests to it, on one loop.
  final class World {
    var random: SeededRandom
    var admission: Admission<Int>
    /// What the admission's waiters stand for.
    var waiters: [Int: (client: Client, run: Client.Run, question: AttemptMachine.Question)] = [:]
    var pending: [(Client, Client.Event)] = []
    var violations: [String] = []
    var log: [String] = []
    var seen: Set<String> = []
    private var clients: [Client] = []

    init(seed: UInt64) {
      random = SeededRandom(seed: seed)
      admission = Admission(
        slots: 1 + Int(random.next() % 2), maximumWaiting: 1 + Int(random.next() % 2), maximumParked: 1)
      clients = (0..<3).map { Client(number: $0, world: self) }
    }

    func run() {
      for _ in 0..<90 { step() }
      for client in clients { client.verb(.resume) }
      // Whoever still waits is answered; nobody has new wishes.
      var budget = 2_000
      while clients.contains(where: { !$0.isSettled }), budget > 0 {
        budget -= 1
        if !pending.isEmpty { answer() } else { for client in clients { client.goToTheEnd() } }
      }
      while !pending.isEmpty { answer() }
      for client in clients where client.settles != 1 {
        violations.append("\(client.number) settled \(client.settles) times")
      }
      if admission.taken != 0 || admission.parked != 0 || admission.waiting != 0 {
        violations.append("left: \(admission.taken) slots, \(admission.parked) parked, \(admission.waiting) waiting")
      }
    }

    func chance(_ of: UInt64) -> Bool { random.next() % of == 0 }

    private func step() {
      if !pending.isEmpty, chance(2) { answer() } else { clients[Int(random.next() % 3)].act() }
      if admission.taken > admission.slots || admission.parked > admission.maximumParked {
        violations.append("too many: \(admission.taken) slots, \(admission.parked) parked")
      }
      for client in clients { client.check() }
    }

    private func answer() {
      let (client, event) = pending.remove(at: Int(random.next() % UInt64(pending.count)))
      log.append("\(client.number):\(event)")
      client.perform(event)
    }

    /// A slot is free for somebody: told by a job, as on the loop.
    func wake(_ entry: Admission<Int>.Entry?) {
      guard let entry, let waiter = waiters.removeValue(forKey: entry.waiter) else { return }
      pending.append((waiter.client, .slot(waiter.run, waiter.question)))
    }
  }
}
