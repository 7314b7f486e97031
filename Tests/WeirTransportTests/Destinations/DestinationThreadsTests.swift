import Foundation
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// Threads that use one destination at once, as the workers of a gateway do.
@Suite("Destinations of several threads", .timeLimit(.minutes(5))) struct DestinationThreadsTests {
  private static let threads = 4
  private static let steps = 4_000

  @Test(arguments: [1, 2, 3] as [UInt64])
  func nothingIsLostAndNothingLeft(seed: UInt64) throws {
    let state = DestinationState(
      destination: Destination(scheme: "http", host: "h", port: 80), slots: 24, maximumWaiting: 60)
    let clock = SharedClock()
    let callers = (0..<Self.threads).map { CallingThread(state, clock, seed: seed * 100 + UInt64($0)) }
    run(callers) { caller in for _ in 0..<Self.steps { caller.step() } }
    run(callers) { $0.leaveAll() }
    // Slots granted to attempts that had left are given back now, and may let others through.
    while callers.contains(where: { $0.hear() }) {}
    #expect(state.occupancy == [0, 0, 0])
    for caller in callers { caller.check() }
    #expect(callers.reduce(0) { $0 + $1.decisions } > 50, "attempts have waited and were decided on")
    let gate = try #require(state.fields.withLock { $0.gate })
    #expect(gate.isIdle && gate.nextWake == nil)
    #expect(gate.machine.inFlight.waiting == 0 && gate.machine.inFlight.onWire == 0)
    #expect(state.takeReports(at: clock.later(by: 1_000)).areLast)
  }

  /// Numbers that are read before the lock is taken could be applied in another order than they changed in.
  @Test func limitsAreAskedForUnderTheLock() {
    let state = DestinationState(
      destination: Destination(scheme: "http", host: "h", port: 80), slots: 4, maximumWaiting: 4)
    let hasBegun = DispatchSemaphore(value: 0), hasEnded = DispatchSemaphore(value: 0)
    state.resize {
      Thread.detachNewThread {
        hasBegun.signal()
        state.resize { (slots: 2, parked: 2) }
        hasEnded.signal()
      }
      hasBegun.wait()
      #expect(hasEnded.wait(timeout: .now() + 0.05) == .timedOut)
      return (slots: 1, parked: 1)
    }
    hasEnded.wait()
    #expect(state.fields.withLock { $0.admission.slots } == 2)
    state.resize { nil }
    #expect(state.fields.withLock { $0.admission.slots } == 2)
  }

  private func run(_ callers: [CallingThread], _ body: @escaping @Sendable (CallingThread) -> Void) {
    let group = DispatchGroup()
    for caller in callers {
      group.enter()
      Thread.detachNewThread {
        body(caller)
        group.leave()
      }
    }
    group.wait()
  }
}

/// Time that passes with each reading. Threads may use their readings in another order.
final class SharedClock: Sendable {
  private let nanoseconds = Atomic<Int64>(MonotonicTime.now.nanoseconds)

  func later(by seconds: Double) -> MonotonicTime {
    let (_, time) = nanoseconds.add(Int64(seconds * 1e9), ordering: .relaxed)
    return MonotonicTime(nanoseconds: time)
  }
}

/// A thread with its attempts. Only its waiters are called by other threads.
private final class CallingThread: @unchecked Sendable {
  private enum Place {
    case waits(OverloadMachine.Ticket)
    case waitsPlainly(UInt64)
    case onWire(OverloadMachine.Ticket?)
    case answered
    case parked
    case returns(UInt64)
    case gone
  }

  /// Counts the calls of one waiter, and whether it was let go.
  private final class Token: Sendable {
    let calls = Atomic(0)
    let released: @Sendable (Int) -> Void

    init(released: @escaping @Sendable (Int) -> Void) { self.released = released }

    deinit { released(calls.load(ordering: .relaxed)) }
  }

  private let state: DestinationState
  private let clock: SharedClock
  private var random: SeededRandom
  private var places: [Place] = []
  /// Attempts that are not gone.
  private var present: [Int] = []
  private let inbox = Mutex<[(attempt: Int, refusal: ShedReason?)]>([])
  private var waiters = 0
  /// Waiters by the number of times that they were called.
  private let ended = Mutex<[Int: Int]>([:])
  private(set) var decisions = 0
  private var takenBack = 0

  init(_ state: DestinationState, _ clock: SharedClock, seed: UInt64) {
    self.state = state
    self.clock = clock
    random = SeededRandom(seed: seed)
  }

  private var now: MonotonicTime { clock.later(by: 0.0005) }

  func step() {
    hear()
    switch Int.random(in: 0..<16, using: &random) {
    case 0..<5: ask()
    case 5: joins()
    case 6: _ = state.wokeOverload(at: now)
    case 7: _ = state.takeReports(at: now)
    default: if let attempt = present.randomElement(using: &random) { goOn(attempt) }
    }
  }

  private func waiter(of attempt: Int) -> DestinationState.Waiter {
    waiters += 1
    let token = Token { [weak self] calls in self?.ended.withLock { $0[calls, default: 0] += 1 } }
    return { [weak self] refusal in
      token.calls.add(1, ordering: .relaxed)
      self?.inbox.withLock { $0.append((attempt, refusal)) }
    }
  }

  private func begin(_ place: Place) {
    present.append(places.count)
    places.append(place)
  }

  private func ask() {
    let isControlled = Int.random(in: 0..<4, using: &random) > 0
    let timeout: Double? = Int.random(in: 0..<8, using: &random) == 0 ? 0.01 : nil
    let caller = isControlled ? OverloadGate.Caller(settings: .default, priority: 3, timeout: timeout) : nil
    let number = places.count
    switch state.ask(DestinationState.Start(), caller, at: now, { waiter(of: number) }).decision {
    case .granted(let ticket): begin(.onWire(ticket))
    case .waiting(.controlled(let ticket)): begin(.waits(ticket))
    case .waiting(.first(let ticket)), .waiting(.again(let ticket)): begin(.waitsPlainly(ticket))
    case .queueFull, .refused: begin(.gone)
    }
  }

  private func joins() {
    if state.takePlaceBeside() { begin(.onWire(state.joinsOverload(at: now))) }
  }

  private func goOn(_ attempt: Int) {
    switch places[attempt] {
    case .onWire(let ticket): advance(attempt, ticket)
    case .answered:
      if Bool.random(using: &random), state.park() { places[attempt] = .parked } else { release(attempt) }
    case .parked: askAgain(attempt)
    case .waits, .waitsPlainly, .returns: if Int.random(in: 0..<12, using: &random) == 0 { leave(attempt) }
    case .gone: present.removeAll { $0 == attempt }
    }
  }

  private func advance(_ attempt: Int, _ ticket: OverloadMachine.Ticket?) {
    guard let ticket else { return places[attempt] = .answered }
    switch Int.random(in: 0..<10, using: &random) {
    case 0: state.setsAside(ticket)
    case 1: state.control(at: now) { $0.hasUploaded(ticket, at: now) }
    case 2: return end(attempt, ticket, .callerGaveUp)
    case 3: return end(attempt, ticket, [.failed, .timedOut, .withdrawn].randomElement(using: &random) ?? .failed)
    case 4:
      state.control(at: now) { $0.neverSent(ticket, at: now) }
      return release(attempt)
    case 5..<8:
      state.control(at: now) { $0.answered(ticket, status: 200, at: now) }
      places[attempt] = .answered
    default: break
    }
  }

  private func end(_ attempt: Int, _ ticket: OverloadMachine.Ticket, _ ending: AttemptEnding) {
    state.control(at: now) { $0.ended(ticket, ending, at: now) }
    release(attempt)
  }

  private func release(_ attempt: Int) {
    places[attempt] = .gone
    state.release()
  }

  private func askAgain(_ attempt: Int) {
    if case .waiting(let ticket) = state.askAgain(waiter(of: attempt)) {
      places[attempt] = .returns(ticket)
    } else {
      state.unpark()
      places[attempt] = .answered
    }
  }

  private func leave(_ attempt: Int) {
    switch places[attempt] {
    case .waits(let ticket): state.withdraw(.controlled(ticket), .callerGaveUp, at: now)
    case .waitsPlainly(let ticket): state.withdraw(.first(ticket), .callerGaveUp, at: now)
    case .returns(let ticket):
      state.withdraw(.again(ticket), .callerGaveUp, at: now)
      state.unpark()
    default: return
    }
    places[attempt] = .gone
    takenBack += 1
  }

  /// Takes note of decisions. Returns whether there was one.
  @discardableResult func hear() -> Bool {
    let heard = inbox.withLock { inbox in
      defer { inbox = [] }
      return inbox
    }
    for (attempt, refusal) in heard { decided(attempt, refusal) }
    return !heard.isEmpty
  }

  private func decided(_ attempt: Int, _ refusal: ShedReason?) {
    decisions += 1
    switch places[attempt] {
    case .waits(let ticket): places[attempt] = refusal == nil ? .onWire(ticket) : .gone
    case .waitsPlainly: places[attempt] = .onWire(nil)
    case .returns:
      state.unpark()
      places[attempt] = .answered
    default: if refusal == nil { state.release() }
    }
  }

  func leaveAll() {
    hear()
    for attempt in present {
      switch places[attempt] {
      case .onWire(let ticket?): end(attempt, ticket, .withdrawn)
      case .onWire(nil), .answered: release(attempt)
      case .parked:
        state.unpark()
        places[attempt] = .gone
      case .waits, .waitsPlainly, .returns: leave(attempt)
      case .gone: break
      }
    }
    present = []
  }

  /// Every waiter was called once or taken back, and none is kept.
  func check() {
    let ended = ended.withLock { $0 }
    #expect(ended.keys.allSatisfy { $0 <= 1 })
    #expect(ended[1, default: 0] == decisions)
    #expect(ended.values.reduce(0, +) == waiters)
    #expect(ended[0, default: 0] <= takenBack)
    #expect(places.count > 500, "\(places.count)")
  }
}
