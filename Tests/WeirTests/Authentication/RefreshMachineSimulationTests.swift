import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

/// Drives refresh machines through random interleavings of requests, refusals, refreshes that succeed, fail, answer twice
/// or never, credentials set from outside, and cancels.
@Suite("§18 RefreshMachine simulation")
struct RefreshMachineSimulationTests {
  private static let seeds =
    ProcessInfo.processInfo.environment["WEIR_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 4_000

  @Test("Never two refreshes at once, nobody waits for ever, no request is sent with a refused credential")
  func interleavings() {
    var seen: [String: Int] = [:]
    for seed in 0..<Self.seeds {
      var simulation = RefreshSimulation(seed: seed)
      simulation.run()
      guard simulation.violations.isEmpty else {
        var again = RefreshSimulation(seed: seed, isLogged: true)
        again.run()
        Issue.record("seed \(seed): \(again.violations) after \(again.log.joined(separator: "; "))")
        return
      }
      for event in simulation.seen { seen[event.rawValue, default: 0] += 1 }
    }
    for event in RefreshSimulation.Event.allCases {
      #expect(seen[event.rawValue, default: 0] > 5, "\(event) has to happen: \(seen)")
    }
  }
}

/// The shell of a machine, a server, and requests that are each somewhere between being asked for and their end. What is
/// between two locks in the real shell is between two steps here.
private struct RefreshSimulation {
  typealias Machine = RefreshMachine<Int, Int>

  enum Event: String, CaseIterable {
    case sent, deferred, waited, retriedAtOnce, refused, excessive, missing, lookedAgain, lateMember, left, discarded
    case superseded, due, dueForNobody, answeredTwice, neverAnswered, succeeded, failed, withdrawn
  }

  private enum Stage: Equatable {
    case looked(Int?, UInt64)
    case asking
    case deferred(UInt64)
    case sent(Int)
    case refused(Int)
    case lookedForRetry(Int, UInt64)
    case waiting(UInt64)
    case over
  }

  private struct Request {
    var stage = Stage.asking
    /// Whether its batch has failed: it must not be sent again.
    var isFailed = false
    /// What it was refused with, as it was looked at.
    var refusal: (credential: Int, version: UInt64)?
  }

  private var machine: Machine
  private var random: SeededRandom
  private var now = MonotonicTime(nanoseconds: 0)
  private var requests: [Request] = []
  /// Released, and not yet told: each session's loop does that in its order.
  private var released: [(request: Int, outcome: Machine.Outcome)] = []

  // What is true, found out independently.
  private var current: Int?
  private var credentials = 1
  private var stale: Set<Int> = []
  private var valid: Set<Int> = []
  private var refused: Set<Int> = []
  /// Whether a refresh waits for the end of the one before.
  private var isDue = false
  private var failedWith: Int?
  private var calls: [(number: UInt64, credential: Int, isSuperseded: Bool)] = []
  private var ended: [UInt64] = []
  private var begun: [MonotonicTime] = []
  private let neverAnswers: Bool
  private let attempts: Int

  private let notes: Notes

  /// Apart, so that a text about the simulation may be made while one is taken down.
  private final class Notes {
    let isLogged: Bool
    var violations: [String] = []
    var seen: Set<Event> = []
    var log: [String] = []

    init(isLogged: Bool) {
      self.isLogged = isLogged
    }
  }

  var violations: [String] { notes.violations }
  var seen: Set<Event> { notes.seen }
  var log: [String] { notes.log }

  init(seed: UInt64, isLogged: Bool = false) {
    random = SeededRandom(seed: seed)
    notes = Notes(isLogged: isLogged)
    neverAnswers = random.next() % 8 == 0
    attempts = Int(random.next() % 4) + 1
    current = random.next() % 8 == 0 ? nil : 1
    if random.next() % 2 == 0 { valid = [1] }
    machine = Machine(credential: current, times: RefreshTimes(interval: 10, maximumAttempts: attempts))
  }

  mutating func run() {
    for _ in 0..<80 where violations.isEmpty { step() }
    finish()
  }

  private func note(_ text: @autoclosure () -> String) {
    if notes.isLogged { notes.log.append(text()) }
  }

  private func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
    if !condition { notes.violations.append(text()) }
  }

  private func saw(_ event: Event) {
    notes.seen.insert(event)
  }

  private mutating func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

  private mutating func step() {
    switch random.next() % 20 {
    case 0..<4: if requests.count < 12 { requests.append(Request()) }
    case 4..<13: if !requests.isEmpty { advance(pick(requests.count)) }
    case 13..<15: tellReleased()
    case 15: answer()
    case 16: changeServer()
    case 17: if random.next() % 3 == 0 { setCredential() }
    case 18 where isDue: for index in requests.indices.filter(isWaiting) { cancel(index) }
    case 18: if !requests.isEmpty, random.next() % 2 == 0 { cancel(pick(requests.count)) }
    default: now = now.advanced(bySeconds: Double(random.next() % 6))
    }
  }

  // MARK: Requests

  private mutating func advance(_ index: Int) {
    switch requests[index].stage {
    case .asking: look(index)
    case .looked(let credential, let version): adapt(index, credential, version)
    case .sent(let credential): serverAnswers(index, credential)
    case .refused(let credential): lookForRetry(index, credential)
    case .lookedForRetry(let credential, let version): retry(index, credential, version)
    case .deferred, .waiting, .over: break
    }
  }

  private mutating func look(_ index: Int) {
    let look = machine.look()
    note("\(index) looks: \(look.credential ?? 0)")
    expect(look.credential == current, "holds \(look.credential ?? 0), not \(current ?? 0)")
    if look.isIdle, let credential = look.credential, !stale.contains(credential) {
      send(index, credential)
    } else {
      requests[index].stage = .looked(look.credential, look.version)
    }
  }

  private mutating func adapt(_ index: Int, _ credential: Int?, _ version: UInt64) {
    let isStale = credential.map { stale.contains($0) } ?? false
    let hadFailed = !machine.look().isIdle
    switch machine.adapt(index, seen: version, requiresRefresh: isStale, at: now) {
    case .apply(let credential):
      if hadFailed, calls.allSatisfy(\.isSuperseded) { failedWith = nil }
      send(index, credential)
    case .wait(let ticket, let call):
      saw(.deferred)
      note("\(index) is deferred")
      requests[index].stage = .deferred(ticket)
      begin(call)
    case .missingCredential:
      saw(.missing)
      expect(current == nil, "\(current ?? 0) is not missing")
      requests[index].stage = .over
    case .excessiveRefresh: excessive(index)
    case .lookAgain:
      saw(.lookedAgain)
      requests[index].stage = .asking
    }
  }

  private mutating func send(_ index: Int, _ credential: Int) {
    note("\(index) is sent with \(credential)")
    expect(credential == current, "\(index) is sent with \(credential), and \(current ?? 0) is the credential")
    expect(!stale.contains(credential), "\(index) is sent with \(credential), which requires a refresh")
    expect(!requests[index].isFailed, "\(index) is sent after its batch has failed")
    expect(requests[index].refusal?.credential != credential, "\(index) is sent again with \(credential)")
    saw(.sent)
    requests[index].stage = .sent(credential)
  }

  private mutating func serverAnswers(_ index: Int, _ credential: Int) {
    let isValid = valid.contains(credential)
    note("\(index) is \(isValid ? "answered" : "refused")")
    if !isValid { refused.insert(credential) }
    requests[index].stage = isValid ? .over : .refused(credential)
  }

  private mutating func lookForRetry(_ index: Int, _ credential: Int) {
    let look = machine.look()
    if look.credential == nil {
      saw(.missing)
      expect(current == nil, "\(current ?? 0) is not missing")
      requests[index].stage = .over
    } else if look.credential != credential {
      note("\(index) is retried at once")
      saw(.retriedAtOnce)
      requests[index].stage = .asking
    } else {
      requests[index].stage = .lookedForRetry(credential, look.version)
    }
  }

  private mutating func retry(_ index: Int, _ credential: Int, _ version: UInt64) {
    let isLate = failedWith == credential && current == credential
    switch machine.retry(index, seen: version, at: now) {
    case .retry:
      saw(.retriedAtOnce)
      expect(!isLate, "\(index) is retried though its batch has failed")
      requests[index].stage = .asking
    case .wait(let ticket, let call):
      saw(.waited)
      note("\(index) waits")
      expect(!isLate, "\(index) waits though its batch has failed")
      requests[index].stage = .waiting(ticket)
      requests[index].refusal = (credential, version)
      begin(call)
    case .refuse:
      saw(isLate ? .lateMember : .refused)
      expect(isLate || current == nil, "\(index) is refused with \(credential), which no batch has failed with")
      fail(index)
    case .missingCredential:
      expect(current == nil, "\(current ?? 0) is not missing")
      requests[index].stage = .over
    case .excessiveRefresh: excessive(index)
    }
  }

  private mutating func excessive(_ index: Int) {
    saw(.excessive)
    note("\(index): excessive")
    let recent = begun.count { now.seconds(since: $0) <= 10 }
    expect(recent >= attempts, "only \(recent) of \(attempts) refreshes are excessive")
    failedWith = current
    fail(index)
  }

  private mutating func fail(_ index: Int) {
    requests[index].isFailed = true
    requests[index].stage = .over
  }

  private mutating func cancel(_ index: Int) {
    switch requests[index].stage {
    case .deferred(let ticket), .waiting(let ticket):
      let left = machine.leave(ticket)
      let isReleased = released.contains { $0.request == index }
      expect(isReleased == (left == nil), "\(index) leaves, and has\(isReleased ? "" : " not") been released")
      expect(left == nil || left == index, "\(left ?? 0) leaves in place of \(index)")
      saw(.left)
    default: break
    }
    note("\(index) is cancelled")
    requests[index].stage = .over
  }

  // MARK: Refreshes

  private mutating func begin(_ call: Machine.Call?) {
    guard let call else {
      isDue = calls.contains(where: \.isSuperseded)
      if isDue { saw(.due) }
      return
    }
    note("refresh \(call.number) of \(call.credential) begins")
    expect(calls.isEmpty, "two refreshes at once")
    expect(call.credential == current, "\(call.credential) is refreshed, not \(current ?? 0)")
    let isNeeded = stale.contains(call.credential) || refused.contains(call.credential)
    expect(isNeeded, "\(call.credential) is refreshed without need")
    let recent = begun.count { now.seconds(since: $0) <= 10 }
    expect(recent < attempts, "\(recent + 1) refreshes within the window of \(attempts)")
    begun.append(now)
    failedWith = nil
    calls.append((call.number, call.credential, false))
  }

  /// The authenticator answers the call that is under way, or once more the one before.
  private mutating func answer() {
    if let last = ended.last, random.next() % 4 == 0 {
      saw(.answeredTwice)
      let action = machine.ended(last, .success(99), discards: false, at: now)
      if case .none = action {} else { expect(false, "a second answer did something") }
      return
    }
    guard let call = calls.first else { return }
    if neverAnswers {
      saw(.neverAnswered)
      return
    }
    calls = []
    ended.append(call.number)
    switch random.next() % 12 {
    case 0..<4: fails(call)
    case 4:
      saw(.withdrawn)
      note("refresh \(call.number) is not made")
      begun.removeLast()
      perform(machine.withdrew(call.number, at: now), after: call.isSuperseded)
    default: succeeds(call)
    }
  }

  private mutating func fails(_ call: (number: UInt64, credential: Int, isSuperseded: Bool)) {
    let discards = random.next() % 3 == 0
    note("refresh \(call.number) fails\(discards ? " for good" : "")")
    if !call.isSuperseded {
      saw(discards ? .discarded : .failed)
      failedWith = current
      if discards { current = nil }
    }
    perform(machine.ended(call.number, .failure(SampleError()), discards: discards, at: now), after: call.isSuperseded)
  }

  private mutating func succeeds(_ call: (number: UInt64, credential: Int, isSuperseded: Bool)) {
    let new = newCredential()
    note("refresh \(call.number) brings \(new)")
    if !call.isSuperseded {
      saw(.succeeded)
      current = new
      failedWith = nil
    }
    perform(machine.ended(call.number, .success(new), discards: false, at: now), after: call.isSuperseded)
  }

  private mutating func perform(_ action: Machine.Action, after isSuperseded: Bool) {
    defer { isDue = false }
    switch action {
    case .none:
      expect(isSuperseded, "an answer did nothing")
      if isDue { saw(.dueForNobody) }
    case .refresh(let call, let waiter):
      expect(isSuperseded, "a refresh follows another")
      expect(isWaiting(waiter), "\(waiter) does not wait for the refresh that begins for it")
      begin(call)
    case .release(let waiters, let outcome):
      if case .excessiveRefresh = outcome { failedWith = current }
      release(waiters, outcome)
    }
  }

  private func isWaiting(_ index: Int) -> Bool {
    switch requests[index].stage {
    case .deferred, .waiting: !released.contains { $0.request == index }
    default: false
    }
  }

  private mutating func release(_ waiters: [Int], _ outcome: Machine.Outcome) {
    let expected = requests.indices.filter(isWaiting)
    expect(waiters.sorted() == expected, "\(waiters) are released, \(expected) wait")
    var tickets: [UInt64] = []
    for waiter in waiters {
      switch requests[waiter].stage {
      case .deferred(let ticket), .waiting(let ticket): tickets.append(ticket)
      default: break
      }
      released.append((waiter, outcome))
    }
    expect(tickets == tickets.sorted(), "not in order: \(tickets)")
    expect(machine.waiterCount == 0, "\(machine.waiterCount) wait after all were released")
  }

  private mutating func tellReleased() {
    guard !released.isEmpty else { return }
    let (index, outcome) = released.removeFirst()
    switch (requests[index].stage, outcome) {
    case (.deferred, .proceed), (.waiting, .proceed), (.deferred, .again): requests[index].stage = .asking
    case (.waiting, .again):
      if let refusal = requests[index].refusal {
        requests[index].stage = .lookedForRetry(refusal.credential, refusal.version)
      }
    case (.deferred, _), (.waiting, _): fail(index)
    default: break
    }
  }

  // MARK: Outside

  private mutating func newCredential() -> Int {
    credentials += 1
    if random.next() % 4 != 0 { valid.insert(credentials) }
    if random.next() % 6 == 0 { stale.insert(credentials) }
    return credentials
  }

  private mutating func setCredential() {
    let new = random.next() % 4 == 0 ? nil : newCredential()
    note("\(new ?? 0) is set")
    if !calls.isEmpty { saw(.superseded) }
    for index in calls.indices { calls[index].isSuperseded = true }
    current = new
    failedWith = nil
    isDue = false
    switch machine.set(new) {
    case .none: expect(!requests.indices.contains(where: isWaiting), "nobody is released")
    case .release(let waiters, .proceed): release(waiters, .proceed(machine.look().version))
    default: expect(false, "setting fails somebody")
    }
  }

  private mutating func changeServer() {
    if let current, random.next() % 2 == 0 {
      valid.remove(current)
      note("\(current) is revoked")
    } else if let current {
      stale.insert(current)
      note("\(current) has expired")
    }
  }

  /// Everything that is under way comes to its end, but for what waits for a refresh that has none.
  private mutating func finish() {
    for _ in 0..<2_000 where violations.isEmpty {
      if !released.isEmpty {
        tellReleased()
      } else if let call = calls.first, !neverAnswers {
        calls = []
        ended.append(call.number)
        if random.next() % 2 == 0 { fails(call) } else { succeeds(call) }
      } else if let index = requests.indices.first(where: { requests[$0].stage != .over && !isWaiting($0) }) {
        advance(index)
      } else {
        break
      }
    }
    let waiting = requests.indices.filter { requests[$0].stage != .over }
    expect(neverAnswers && !calls.isEmpty || waiting.isEmpty, "\(waiting) wait for ever")
    for index in waiting { cancel(index) }
    expect(machine.waiterCount == 0, "\(machine.waiterCount) wait after all have left")
  }
}
