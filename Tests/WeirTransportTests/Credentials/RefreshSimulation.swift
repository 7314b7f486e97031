import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// The shell of a machine, a server, and requests that are each somewhere between being asked for and their end. What is
/// between two locks in the real shell is between two steps here. In every other simulation credentials age.
struct RefreshSimulation {
  typealias Machine = RefreshMachine<Int, Int>

  enum Event: String, CaseIterable {
    case sent, deferred, waited, retriedAtOnce, refused, excessive, missing, lookedAgain, lateMember, left, discarded
    case superseded, due, dueForNobody, answeredTwice, neverAnswered, succeeded, failed, withdrawn
    case refreshedByAge, refusedInSilence, fetched, refusedCheck
  }

  enum Stage: Equatable {
    case looked(Int?, UInt64)
    case asking
    case deferred(UInt64)
    case sent(Int)
    case refused(Int)
    case lookedForRetry(Int, UInt64)
    case waiting(UInt64)
    case over
  }

  struct Request {
    var stage = Stage.asking
    /// Whether its batch has failed: it must not be sent again.
    var isFailed = false
    /// What it was refused with, as it was looked at.
    var refusal: (credential: Int, version: UInt64)?
  }

  var machine: Machine
  var random: SeededRandom
  var now = MonotonicTime(nanoseconds: 0)
  var requests: [Request] = []
  /// Released, and not yet told: each session's loop does that in its order.
  var released: [(request: Int, outcome: RefreshOutcome)] = []

  // What is true, found out independently.
  var current: Int?
  var credentials = 1
  var stale: Set<Int> = []
  /// Good, and to be refreshed.
  var aged: Set<Int> = []
  var valid: Set<Int> = []
  var refused: Set<Int> = []
  /// Whether a refresh waits for the end of the one before.
  var isDue = false
  var failedWith: Int?
  var calls: [Call] = []
  var ended: [UInt64] = []
  /// The times at which calls began that count.
  var begun: [MonotonicTime] = []
  var failuresInRow = 0
  var silentUntil = MonotonicTime(nanoseconds: 0)
  let ages: Bool
  let neverAnswers: Bool
  let attempts: Int

  struct Call {
    let number: UInt64
    let credential: Int
    let counts: Bool
    var isSuperseded = false
  }

  let notes: Notes

  /// Apart, so that a text about the simulation may be made while one is taken down.
  final class Notes {
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
    ages = random.next() % 2 == 0
    neverAnswers = random.next() % 8 == 0
    attempts = Int(random.next() % 4) + 1
    current = random.next() % 8 == 0 ? nil : 1
    if random.next() % 2 == 0 { valid = [1] }
    machine = Machine(credential: current, times: RefreshTimes(interval: 10, maximumAttempts: attempts), ages: ages)
  }

  mutating func run() {
    for _ in 0..<80 where violations.isEmpty { step() }
    finish()
  }

  func note(_ text: @autoclosure () -> String) {
    if notes.isLogged { notes.log.append(text()) }
  }

  func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
    if !condition { notes.violations.append(text()) }
  }

  func saw(_ event: Event) {
    notes.seen.insert(event)
  }

  mutating func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

  mutating func step() {
    switch random.next() % 20 {
    case 0..<4: if requests.count < 12 { requests.append(Request()) }
    case 4..<13: if !requests.isEmpty { advance(pick(requests.count)) }
    case 13..<15: tellReleased()
    case 15: answer()
    case 16: changeServer()
    case 17: if random.next() % 3 == 0 { setCredential() } else if ages { useAside() }
    case 18 where isDue: for index in requests.indices.filter(isWaiting) { cancel(index) }
    case 18: if !requests.isEmpty, random.next() % 2 == 0 { cancel(pick(requests.count)) }
    default: now = now.advanced(bySeconds: Double(random.next() % 6))
    }
  }

  // MARK: Requests

  mutating func advance(_ index: Int) {
    switch requests[index].stage {
    case .asking: look(index)
    case .looked(let credential, let version): adapt(index, credential, version)
    case .sent(let credential): serverAnswers(index, credential)
    case .refused(let credential): lookForRetry(index, credential)
    case .lookedForRetry(let credential, let version): retry(index, credential, version)
    case .deferred, .waiting, .over: break
    }
  }

  mutating func look(_ index: Int) {
    let look = machine.look()
    note("\(index) looks: \(look.credential ?? 0)")
    expect(look.credential == current, "holds \(look.credential ?? 0), not \(current ?? 0)")
    if look.isIdle, need(of: look.credential) == .none, let credential = look.credential {
      send(index, credential)
    } else {
      requests[index].stage = .looked(look.credential, look.version)
    }
  }

  mutating func adapt(_ index: Int, _ credential: Int?, _ version: UInt64) {
    let need = need(of: credential)
    let hadFailed = !machine.look().isIdle
    switch machine.adapt(index, seen: version, need, at: now) {
    case .apply(let credential, let call):
      if hadFailed, need == .none, !isSilent, calls.allSatisfy(\.isSuperseded) { failedWith = nil }
      send(index, credential)
      guard let call else { break }
      saw(.refreshedByAge)
      expect(need == .soon, "\(credential) is refreshed beside a request though it is fresh")
      begin(call, isRefused: false)
    case .refuse:
      saw(.refusedInSilence)
      expect(isSilent && need == .now, "\(index) is refused outside of a silence")
      fail(index)
    case .wait(let ticket, let call):
      saw(.deferred)
      expect(need == .now || machine.isStale, "\(index) waits though \(credential ?? 0) is good")
      note("\(index) is deferred")
      requests[index].stage = .deferred(ticket)
      begin(call, isRefused: false)
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

  mutating func send(_ index: Int, _ credential: Int) {
    note("\(index) is sent with \(credential)")
    expect(credential == current, "\(index) is sent with \(credential), and \(current ?? 0) is the credential")
    expect(!stale.contains(credential), "\(index) is sent with \(credential), which requires a refresh")
    expect(!requests[index].isFailed, "\(index) is sent after its batch has failed")
    expect(requests[index].refusal?.credential != credential, "\(index) is sent again with \(credential)")
    saw(.sent)
    requests[index].stage = .sent(credential)
  }

  mutating func serverAnswers(_ index: Int, _ credential: Int) {
    let isValid = valid.contains(credential)
    note("\(index) is \(isValid ? "answered" : "refused")")
    if !isValid { refused.insert(credential) }
    requests[index].stage = isValid ? .over : .refused(credential)
  }

  mutating func lookForRetry(_ index: Int, _ credential: Int) {
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

  mutating func retry(_ index: Int, _ credential: Int, _ version: UInt64) {
    let isLate = failedWith == credential && current == credential && (!ages || isSilent)
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
      begin(call, isRefused: true)
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

  mutating func excessive(_ index: Int) {
    saw(.excessive)
    note("\(index): excessive")
    let recent = begun.count { now.seconds(since: $0) <= 10 }
    expect(recent >= attempts, "only \(recent) of \(attempts) refreshes are excessive")
    if !ages { failedWith = current }
    fail(index)
  }

  mutating func fail(_ index: Int) {
    requests[index].isFailed = true
    requests[index].stage = .over
  }

  mutating func cancel(_ index: Int) {
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
}
