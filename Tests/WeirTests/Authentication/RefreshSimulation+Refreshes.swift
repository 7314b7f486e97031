import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

extension RefreshSimulation {
  // MARK: Refreshes

  mutating func begin(_ call: Machine.Call?) {
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
      begun.removeLast()
      perform(machine.withdrew(call.number, at: now), after: call.isSuperseded)
    default: succeeds(call)
    }
  }

  mutating func fails(_ call: (number: UInt64, credential: Int, isSuperseded: Bool)) {
    let discards = random.next() % 3 == 0
    note("refresh \(call.number) fails\(discards ? " for good" : "")")
    if !call.isSuperseded {
      saw(discards ? .discarded : .failed)
      failedWith = current
      if discards { current = nil }
    }
    perform(machine.ended(call.number, .failure(SampleError()), discards: discards, at: now), after: call.isSuperseded)
  }

  mutating func succeeds(_ call: (number: UInt64, credential: Int, isSuperseded: Bool)) {
    let new = newCredential()
    note("refresh \(call.number) brings \(new)")
    if !call.isSuperseded {
      saw(.succeeded)
      current = new
      failedWith = nil
    }
    perform(machine.ended(call.number, .success(new), discards: false, at: now), after: call.isSuperseded)
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
      begin(call)
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
    } else if let current {
      stale.insert(current)
      note("\(current) has expired")
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
