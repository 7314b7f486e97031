import WeirIO
import WeirTestSupport

@testable import WeirTransport

extension RefreshSimulation {
  // MARK: Refreshes

  var isSilent: Bool { now < silentUntil }

  func need(of credential: Int?) -> RefreshNeed {
    guard let credential else { return .none }
    if stale.contains(credential) { return .now }
    return aged.contains(credential) ? .soon : .none
  }

  mutating func begin(_ call: Machine.Call?, isRefused: Bool) {
    guard let call else {
      isDue = calls.contains(where: \.isSuperseded)
      if isDue { saw(.due) }
      return
    }
    note("refresh \(call.number) of \(call.credential) begins")
    expect(calls.isEmpty, "two refreshes at once")
    expect(call.credential == current, "\(call.credential) is refreshed, not \(current ?? 0)")
    expect(!isSilent, "a refresh begins in a silence")
    let isNeeded = need(of: call.credential) != .none || refused.contains(call.credential)
    expect(isNeeded, "\(call.credential) is refreshed without need")
    let counts = isRefused || !ages
    if counts {
      let recent = begun.count { now.seconds(since: $0) <= 10 }
      expect(recent < attempts, "\(recent + 1) refreshes within the window of \(attempts)")
      begun.append(now)
    }
    failedWith = nil
    calls.append(Call(number: call.number, credential: call.credential, counts: counts))
  }

  /// The authenticator answers the call that is under way, or once more the one before.
  mutating func answer() {
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
      if call.counts { begun.removeLast() }
      perform(machine.withdrew(call.number, at: now), after: call.isSuperseded)
    default: succeeds(call)
    }
  }

  mutating func fails(_ call: Call) {
    let discards = random.next() % 3 == 0
    let retryAfter = random.next() % 4 == 0 ? Double(random.next() % 90) : nil
    let share = Double(random.next() % 1001) / 1000
    note("refresh \(call.number) fails\(discards ? " for good" : "")")
    if !call.isSuperseded {
      saw(discards ? .discarded : .failed)
      failedWith = current
      if discards { current = nil }
      if ages { beginSilence(retryAfter, share) }
    }
    let action = machine.ended(
      call.number, .failure(RefreshRig.Failure()), discards: discards, retryAfter: retryAfter, random: share, at: now)
    perform(action, after: call.isSuperseded)
    checkSilence()
  }

  mutating func beginSilence(_ retryAfter: Double?, _ share: Double) {
    var seconds = 1.0
    for _ in 0..<min(failuresInRow, 6) { seconds *= 2 }
    failuresInRow += 1
    silentUntil = now.advanced(bySeconds: max(min(seconds, 60) * (0.8 + 0.4 * share), min(retryAfter ?? 0, 60)))
  }

  mutating func endSilence() {
    failuresInRow = 0
    silentUntil = MonotonicTime(nanoseconds: 0)
  }

  func checkSilence() {
    let left = machine.silenceLeft(at: now)
    expect(abs(left - max(0, silentUntil.seconds(since: now))) < 1e-6, "silent for \(left) s")
  }

  mutating func succeeds(_ call: Call) {
    let new = newCredential()
    note("refresh \(call.number) brings \(new)")
    if !call.isSuperseded {
      saw(.succeeded)
      current = new
      failedWith = nil
      endSilence()
    }
    perform(machine.ended(call.number, .success(new), discards: false, at: now), after: call.isSuperseded)
    checkSilence()
  }

  mutating func perform(_ action: Machine.Action, after isSuperseded: Bool) {
    defer { isDue = false }
    switch action {
    case .none:
      expect(isSuperseded, "an answer did nothing")
      if isDue { saw(.dueForNobody) }
    case .refresh(let call, let waiter):
      expect(isSuperseded, "a refresh follows another")
      expect(isWaiting(waiter), "\(waiter) does not wait for the refresh that begins for it")
      begin(call, isRefused: false)
    case .release(let waiters, let outcome):
      if case .excessiveRefresh = outcome { failedWith = current }
      release(waiters, outcome)
    }
  }

  func isWaiting(_ index: Int) -> Bool {
    switch requests[index].stage {
    case .deferred, .waiting: !released.contains { $0.request == index }
    default: false
    }
  }

  mutating func release(_ waiters: [Int], _ outcome: RefreshOutcome) {
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

  mutating func tellReleased() {
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

  mutating func newCredential() -> Int {
    credentials += 1
    if random.next() % 4 != 0 { valid.insert(credentials) }
    if random.next() % 6 == 0 { stale.insert(credentials) }
    if ages, random.next() % 6 == 0 { aged.insert(credentials) }
    return credentials
  }

  mutating func setCredential() {
    let new = random.next() % 4 == 0 ? nil : newCredential()
    note("\(new ?? 0) is set")
    if !calls.isEmpty { saw(.superseded) }
    for index in calls.indices { calls[index].isSuperseded = true }
    current = new
    failedWith = nil
    isDue = false
    endSilence()
    switch machine.set(new) {
    case .none: expect(!requests.indices.contains(where: isWaiting), "nobody is released")
    case .release(let waiters, .proceed): release(waiters, .proceed(machine.look().version))
    default: expect(false, "setting fails somebody")
    }
  }

  mutating func changeServer() {
    if let current, random.next() % 2 == 0 {
      valid.remove(current)
      note("\(current) is revoked")
    } else if let current, ages, random.next() % 2 == 0 {
      aged.insert(current)
      note("\(current) ages")
    } else if let current {
      stale.insert(current)
      note("\(current) has expired")
    }
  }

  /// A fetch before any use, or a check that is refused: nobody waits for either.
  mutating func useAside() {
    guard let current else { return }
    if !valid.contains(current), random.next() % 2 == 0 {
      refused.insert(current)
      guard let call = machine.refuse(seen: machine.look().version, at: now) else { return }
      saw(.refusedCheck)
      begin(call, isRefused: true)
    } else if need(of: current) != .none, let call = machine.fetch(at: now) {
      saw(.fetched)
      begin(call, isRefused: false)
    }
  }

  /// Everything that is under way comes to its end, but for what waits for a refresh that has none.
  mutating func finish() {
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
