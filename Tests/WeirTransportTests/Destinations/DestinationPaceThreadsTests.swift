import Foundation
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// Threads that ask one destination's pace at once.
@Suite("Pace of several threads", .timeLimit(.minutes(5))) struct DestinationPaceThreadsTests {
  private static let threads = 4
  private static let steps = 4_000

  @Test(arguments: [1, 2, 3] as [UInt64])
  func nothingIsLostAndNothingLeft(seed: UInt64) throws {
    let state = DestinationState(
      destination: Destination(scheme: "http", host: "h", port: 80), slots: 24, maximumWaiting: 60)
    let clock = SharedClock()
    let callers = (0..<Self.threads).map { PacedThread(state, clock, seed: seed * 100 + UInt64($0)) }
    let group = DispatchGroup()
    for caller in callers {
      group.enter()
      Thread.detachNewThread {
        for _ in 0..<Self.steps { caller.step() }
        group.leave()
      }
    }
    group.wait()
    for caller in callers { caller.leaveAll() }
    // Turns that were given back have gone to attempts that leave now.
    while callers.contains(where: { $0.hear() }) { for caller in callers { caller.leaveAll() } }
    for caller in callers { caller.check() }
    #expect(callers.reduce(0) { $0 + $1.decisions } > 50, "attempts have waited and were decided on")
    let machine = try #require(state.pace.withLock { $0?.machine })
    #expect(machine.attempts.waiting == 0 && machine.attempts.onWire == 0)
    #expect(machine.pauses > 0)
    #expect(state.wokePace(at: clock.later(by: 100)) == nil)
  }
}

/// A thread with its attempts. Only its waiters are called by other threads.
private final class PacedThread: @unchecked Sendable {
  private enum Place {
    case waits(PaceMachine.Ticket)
    case underWay(PaceMachine.Ticket)
    case gone
  }

  /// Counts the calls of one waiter, and whether it was let go.
  private final class Token: Sendable {
    let calls = Atomic(0)
    let released: @Sendable (Int) -> Void

    init(released: @escaping @Sendable (Int) -> Void) { self.released = released }

    deinit { released(calls.load(ordering: .relaxed)) }
  }

  private static let settings = [
    PaceSettings(rate: 1_000, burst: 5, wait: 0.05), PaceSettings(rate: 1_000, burst: 5, wait: 0.05),
    PaceSettings(wait: 0.05),
  ]

  private let state: DestinationState
  private let clock: SharedClock
  private var random: SeededRandom
  private var places: [Place] = []
  private let inbox = Mutex<[(attempt: Int, goes: Bool)]>([])
  private var waiters = 0
  /// Waiters by the number of times that they were called.
  private let ended = Mutex<[Int: Int]>([:])
  private(set) var decisions = 0

  init(_ state: DestinationState, _ clock: SharedClock, seed: UInt64) {
    self.state = state
    self.clock = clock
    random = SeededRandom(seed: seed)
  }

  private var now: MonotonicTime { clock.later(by: 0.0005) }

  private var anySettings: PaceSettings { Self.settings[Int.random(in: 0..<Self.settings.count, using: &random)] }

  func step() {
    hear()
    switch Int.random(in: 0..<8, using: &random) {
    case 0..<4: ask()
    case 4: if let ticket = state.takeTurn(anySettings, at: now) { places.append(.underWay(ticket)) }
    case 5: _ = state.wokePace(at: now)
    case 6:
      if state.promisesRetry(by: anySettings, after: 0.01, until: .distantFuture, isRepair: false, at: now) {
        state.forgetsRetry()
      }
    default: break
    }
    // The last few are those that are not gone.
    for _ in 0..<2 where !places.isEmpty {
      goOn(places.count - 1 - Int.random(in: 0..<min(places.count, 12), using: &random))
    }
  }

  private func ask() {
    let attempt = places.count
    let priority = Int.random(in: 0..<8, using: &random)
    let (arrival, wake) = state.askPace(
      anySettings, order: 0, priority: priority, timeout: nil, isRetry: priority == 7, isPromised: false, at: now,
      { waiter(of: attempt) })
    switch arrival {
    case .goes(let ticket): places.append(.underWay(ticket))
    case .waits(let ticket): places.append(.waits(ticket))
    case .refused: places.append(.gone)
    }
    if wake != nil, Bool.random(using: &random) { _ = state.wokePace(at: now) }
  }

  private func waiter(of attempt: Int) -> PaceGate.Waiter {
    waiters += 1
    let token = Token { [weak self] calls in self?.ended.withLock { $0[calls, default: 0] += 1 } }
    return { [weak self] refusal in
      token.calls.add(1, ordering: .relaxed)
      self?.inbox.withLock { $0.append((attempt, refusal == nil)) }
    }
  }

  private func goOn(_ attempt: Int) {
    switch places[attempt] {
    case .underWay(let ticket):
      switch Int.random(in: 0..<16, using: &random) {
      case 0: state.endedPace(ticket, at: now)
      case 1: state.leavePace(ticket, at: now)
      case 2: _ = state.answeredPace(anySettings, ticket, pause: 0.01, at: now)
      default: _ = state.answeredPace(anySettings, ticket, pause: nil, at: now)
      }
      places[attempt] = .gone
    case .waits(let ticket):
      guard Int.random(in: 0..<8, using: &random) == 0 else { return }
      state.leavePace(ticket, at: now)
      places[attempt] = .gone
    case .gone: break
    }
  }

  /// Takes note of decisions. Returns whether there was one.
  @discardableResult func hear() -> Bool {
    let heard = inbox.withLock { inbox in
      defer { inbox = [] }
      return inbox
    }
    for (attempt, goes) in heard {
      decisions += 1
      // One that has left has given its turn back.
      if case .waits(let ticket) = places[attempt] { places[attempt] = goes ? .underWay(ticket) : .gone }
    }
    return !heard.isEmpty
  }

  func leaveAll() {
    hear()
    for attempt in places.indices {
      switch places[attempt] {
      case .waits(let ticket), .underWay(let ticket): state.leavePace(ticket, at: now)
      case .gone: continue
      }
      places[attempt] = .gone
    }
  }

  /// Every waiter was called once or taken back, and none is kept.
  func check() {
    let ended = ended.withLock { $0 }
    #expect(ended.keys.allSatisfy { $0 <= 1 })
    #expect(ended[1, default: 0] == decisions)
    #expect(ended.values.reduce(0, +) == waiters)
    #expect(places.count > 500, "\(places.count)")
  }
}
