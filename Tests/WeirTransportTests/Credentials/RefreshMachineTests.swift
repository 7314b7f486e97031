import Testing
import WeirIO

@testable import WeirTransport

/// What the machine says to inputs, one after another. Credentials are words, waiters are numbers.
struct RefreshRig {
  typealias Machine = RefreshMachine<String, Int>

  struct Failure: Error, CustomStringConvertible {
    var description: String { "failure" }
  }

  var machine: Machine
  /// Not the clock's zero, as a silence that was never begun ends there.
  var now = MonotonicTime(nanoseconds: 1_000_000_000_000)

  init(
    _ credential: String? = "a", times: RefreshTimes? = RefreshTimes(interval: 30, maximumAttempts: 5),
    ages: Bool = false
  ) {
    machine = Machine(credential: credential, times: times, ages: ages)
  }

  var version: UInt64 { machine.look().version }
  /// Seconds, to a thousandth.
  var silence: Double { (machine.silenceLeft(at: now) * 1000).rounded() / 1000 }

  mutating func pass(_ seconds: Double) { now = now.advanced(bySeconds: seconds) }

  mutating func adapt(_ waiter: Int, stale: Bool = false, seen: UInt64? = nil) -> String {
    adapt(waiter, stale ? .now : .none, seen: seen)
  }

  mutating func adapt(_ waiter: Int, _ need: RefreshNeed, seen: UInt64? = nil) -> String {
    switch machine.adapt(waiter, seen: seen ?? version, need, at: now) {
    case .apply(let credential, let call): "apply \(credential)" + Self.text(call)
    case .refuse(let error): "refuse \(error)"
    case .wait(let ticket, let call): "wait \(ticket)" + Self.text(call)
    case .missingCredential: "missing"
    case .excessiveRefresh: "excessive"
    case .lookAgain: "look again"
    }
  }

  mutating func retry(_ waiter: Int, seen: UInt64? = nil) -> String {
    switch machine.retry(waiter, seen: seen ?? version, at: now) {
    case .retry(let version): "retry \(version)"
    case .wait(let ticket, let call): "wait \(ticket)" + Self.text(call)
    case .refuse(let error): "refuse \(error)"
    case .missingCredential: "missing"
    case .excessiveRefresh: "excessive"
    }
  }

  mutating func set(_ credential: String?) -> String { Self.text(machine.set(credential)) }

  mutating func succeed(_ call: UInt64, _ credential: String) -> String {
    Self.text(machine.ended(call, .success(credential), discards: false, at: now))
  }

  mutating func fail(
    _ call: UInt64, discards: Bool = false, retryAfter: Double? = nil, random: Double = 0.5
  ) -> String {
    Self.text(
      machine.ended(
        call, .failure(Failure()), discards: discards, retryAfter: retryAfter, random: random, at: now))
  }

  mutating func fetch() -> String { Self.text(machine.fetch(at: now)) }

  mutating func refuse(seen: UInt64? = nil) -> String {
    Self.text(machine.refuse(seen: seen ?? version, at: now))
  }

  mutating func withdraw(_ call: UInt64) -> String { Self.text(machine.withdrew(call, at: now)) }

  mutating func leave(_ ticket: UInt64) -> Int? { machine.leave(ticket) }

  private static func text(_ call: Machine.Call?) -> String {
    call.map { ", refresh \($0.number) of \($0.credential)" } ?? ""
  }

  private static func text(_ action: Machine.Action) -> String {
    switch action {
    case .none: "-"
    case .refresh(let call, let waiter): "refresh \(call.number) of \(call.credential) for \(waiter)"
    case .release(let waiters, .proceed(let version)): "release \(waiters) with \(version)"
    case .release(let waiters, .fail(let error)): "fail \(waiters): \(error)"
    case .release(let waiters, .excessiveRefresh): "fail \(waiters): excessive"
    case .release(let waiters, .again): "\(waiters) ask again"
    }
  }
}

@Suite("§18 Refresh machine: adapting") struct RefreshMachineAdaptTests {
  @Test("A credential is applied, and without one requests fail")
  func applied() {
    var rig = RefreshRig()
    #expect(rig.adapt(1) == "apply a")
    var none = RefreshRig(nil)
    #expect(none.adapt(1) == "missing")
    #expect(none.adapt(1, stale: true) == "missing")
  }

  @Test("One that requires a refresh defers the request and starts it; those after it wait too, whatever they saw")
  func deferred() {
    var rig = RefreshRig()
    #expect(rig.adapt(1, stale: true) == "wait 1, refresh 1 of a")
    #expect(rig.adapt(2, stale: true) == "wait 2")
    #expect(rig.adapt(3) == "wait 3", "something is deferred already")
    #expect(rig.succeed(1, "b") == "release [1, 2, 3] with 1")
    #expect(rig.adapt(4) == "apply b")
  }

  @Test("A refresh that a retry started holds up no request whose credential looks valid, until one does not")
  func notHeldUp() {
    var rig = RefreshRig()
    #expect(rig.retry(1) == "wait 1, refresh 1 of a")
    #expect(rig.adapt(2) == "apply a")
    #expect(rig.adapt(3, stale: true) == "wait 2")
    #expect(rig.adapt(4) == "wait 3")
    #expect(rig.leave(2) == 3)
    #expect(rig.adapt(5) == "wait 4", "another one is deferred still")
    #expect(rig.leave(3) == 4)
    #expect(rig.leave(4) == 5)
    #expect(rig.adapt(6) == "apply a")
  }

  @Test("After a failure the kept credential is used by new requests, and refreshed if it requires that")
  func afterFailure() {
    var rig = RefreshRig()
    _ = rig.retry(1)
    #expect(rig.fail(1) == "fail [1]: failure")
    #expect(!rig.machine.look().isIdle)
    #expect(rig.adapt(2) == "apply a")
    #expect(rig.machine.look().isIdle)
    #expect(rig.retry(2) == "wait 2, refresh 2 of a", "no member of the failed batch any more")
    _ = rig.fail(2)
    #expect(rig.adapt(3, stale: true) == "wait 3, refresh 3 of a")
  }

  @Test("What was found out of another credential says nothing of this one")
  func lookAgain() {
    var rig = RefreshRig()
    #expect(rig.set("b") == "-")
    #expect(rig.adapt(1, stale: true, seen: 0) == "look again")
    #expect(rig.adapt(1, seen: 0) == "look again")
    #expect(rig.adapt(1) == "apply b")
  }
}

@Suite("§18 Refresh machine: retrying") struct RefreshMachineRetryTests {
  @Test("The first starts a refresh, the others wait for it, and all go on with its credential")
  func oneRefresh() {
    var rig = RefreshRig()
    #expect(rig.retry(1) == "wait 1, refresh 1 of a")
    #expect(rig.retry(2) == "wait 2")
    #expect(rig.retry(3) == "wait 3")
    #expect(rig.leave(2) == 2)
    #expect(rig.leave(2) == nil)
    #expect(rig.succeed(1, "b") == "release [1, 3] with 1")
    #expect(rig.machine.waiterCount == 0)
    #expect(rig.retry(4, seen: 0) == "retry 1", "the credential has changed since it was looked at")
  }

  @Test("A failure fails all waiting requests, and those of the batch that come late")
  func failure() {
    var rig = RefreshRig()
    _ = rig.retry(1)
    _ = rig.adapt(2, stale: true)
    #expect(rig.fail(1) == "fail [1, 2]: failure")
    #expect(rig.retry(3) == "refuse failure")
    #expect(rig.machine.look().credential == "a")
  }

  @Test("A credential that is discarded is gone for new requests")
  func discarded() {
    var rig = RefreshRig()
    _ = rig.retry(1)
    #expect(rig.fail(1, discards: true) == "fail [1]: failure")
    #expect(rig.machine.look().credential == nil)
    #expect(rig.adapt(2) == "missing")
    #expect(rig.adapt(3, stale: true) == "missing")
    #expect(rig.retry(4) == "refuse failure", "it had looked before")
    #expect(rig.set("b") == "-")
    #expect(rig.adapt(5) == "apply b")
  }
}

@Suite("§18 Refresh machine: refreshes") struct RefreshMachineRefreshTests {
  @Test("A second answer, and one to another call, is ignored")
  func answers() {
    var rig = RefreshRig()
    #expect(rig.succeed(1, "x") == "-")
    _ = rig.retry(1)
    #expect(rig.fail(7) == "-")
    #expect(rig.succeed(1, "b") == "release [1] with 1")
    #expect(rig.succeed(1, "c") == "-")
    #expect(rig.fail(1) == "-")
    #expect(rig.adapt(2) == "apply b")
  }

  @Test("A refresh that all requests have left goes on, and its credential is kept")
  func nobodyWaits() {
    var rig = RefreshRig()
    _ = rig.retry(1)
    #expect(rig.leave(1) == 1)
    #expect(rig.retry(2) == "wait 2", "it is the one under way")
    #expect(rig.leave(2) == 2)
    #expect(rig.succeed(1, "b") == "release [] with 1")
    #expect(rig.adapt(3) == "apply b")
  }

  @Test("A credential that is set wins: waiting requests go on with it at once, the refresh's result is dropped")
  func set() {
    var rig = RefreshRig()
    _ = rig.retry(1)
    _ = rig.adapt(2, stale: true)
    #expect(rig.set("mine") == "release [1, 2] with 1")
    #expect(rig.adapt(3) == "apply mine")
    #expect(rig.succeed(1, "late") == "-")
    #expect(rig.adapt(4) == "apply mine")
    var failing = RefreshRig()
    _ = failing.retry(1)
    _ = failing.set("mine")
    #expect(failing.fail(1, discards: true) == "-")
    #expect(failing.adapt(2) == "apply mine")
  }

  @Test("Nil that is set wins as well")
  func setToNil() {
    var rig = RefreshRig()
    _ = rig.retry(1)
    #expect(rig.set(nil) == "release [1] with 1")
    #expect(rig.adapt(2, stale: true) == "missing")
    #expect(rig.retry(3) == "missing")
    #expect(rig.succeed(1, "late") == "-")
    #expect(rig.machine.look().credential == nil)
  }

  @Test("Never two at once: the next waits for the end of the one that is no longer wanted")
  func due() {
    var rig = RefreshRig()
    _ = rig.retry(1)
    _ = rig.set("b")
    #expect(rig.adapt(2, stale: true) == "wait 2", "the first call is under way still")
    #expect(rig.retry(3) == "wait 3")
    #expect(rig.adapt(4) == "wait 4")
    #expect(rig.leave(2) == 2)
    #expect(rig.succeed(1, "late") == "refresh 2 of b for 3")
    #expect(rig.succeed(2, "c") == "release [3, 4] with 2")
  }

  @Test("A refresh that no request waits for any more does not begin, nor does one that is set aside")
  func dueForNobody() {
    var rig = RefreshRig()
    _ = rig.retry(1)
    _ = rig.set("b")
    _ = rig.retry(2)
    _ = rig.leave(2)
    #expect(rig.fail(1) == "-")
    #expect(rig.machine.look().isIdle)
    _ = rig.retry(3)
    _ = rig.set("c")
    _ = rig.retry(4)
    #expect(rig.set("d") == "release [4] with 3")
    #expect(rig.fail(2) == "-")
    #expect(rig.retry(5) == "wait 5, refresh 3 of d")
  }
}

@Suite("§18 Refresh machine: calls that are not made") struct RefreshMachineWithdrawalTests {
  @Test("Requests that wait for such a call ask again, and none is refused for it")
  func withdrawn() {
    var rig = RefreshRig()
    _ = rig.retry(1)
    _ = rig.adapt(2, stale: true)
    #expect(rig.withdraw(7) == "-")
    #expect(rig.withdraw(1) == "[1, 2] ask again")
    #expect(rig.withdraw(1) == "-")
    #expect(rig.retry(1) == "wait 3, refresh 2 of a")
    #expect(rig.succeed(2, "b") == "release [1] with 1")
  }

  @Test("It does not count in the window")
  func window() {
    var rig = RefreshRig(times: RefreshTimes(interval: 10, maximumAttempts: 1))
    for number in 1...5 as ClosedRange<UInt64> {
      #expect(rig.retry(1) == "wait \(number), refresh \(number) of a")
      #expect(rig.withdraw(number) == "[1] ask again")
    }
    #expect(rig.retry(1) == "wait 6, refresh 6 of a")
    _ = rig.succeed(6, "b")
    #expect(rig.retry(2) == "excessive", "the one that was made counts")
  }

  @Test("One that is superseded makes way for the next")
  func superseded() {
    var rig = RefreshRig()
    _ = rig.retry(1)
    _ = rig.set("b")
    #expect(rig.withdraw(1) == "-")
    _ = rig.retry(2)
    _ = rig.set("c")
    _ = rig.retry(3)
    #expect(rig.withdraw(2) == "refresh 3 of c for 3")
  }
}

@Suite("§18 Refresh machine: window") struct RefreshWindowTests {
  @Test("So many within the interval, both its ends included; then it fails without a call")
  func window() {
    var rig = RefreshRig(times: RefreshTimes(interval: 10, maximumAttempts: 2))
    let start = rig.now
    _ = rig.retry(1)
    _ = rig.succeed(1, "b")
    rig.pass(4)
    _ = rig.retry(2)
    _ = rig.fail(2)
    rig.pass(6)
    #expect(rig.adapt(3) == "apply b")
    #expect(rig.retry(3) == "excessive", "the first is just within")
    #expect(rig.retry(4) == "refuse ExcessiveRefresh()", "late for the batch that failed so")
    #expect(rig.adapt(5) == "apply b")
    rig.now = MonotonicTime(nanoseconds: start.nanoseconds + 10_000_000_001)
    #expect(rig.retry(5) == "wait 3, refresh 3 of b")
    _ = rig.succeed(3, "c")
    #expect(rig.adapt(6, stale: true) == "excessive")
    #expect(rig.machine.waiterCount == 0)
  }

  @Test("A new credential that requires a refresh too ends there, and so does one that is due")
  func becomesExcessive() {
    var rig = RefreshRig(times: RefreshTimes(interval: 10, maximumAttempts: 1))
    _ = rig.adapt(1, stale: true)
    _ = rig.succeed(1, "b")
    #expect(rig.adapt(1, stale: true) == "excessive")
    var due = RefreshRig(times: RefreshTimes(interval: 10, maximumAttempts: 1))
    _ = due.adapt(1, stale: true)
    _ = due.set("b")
    #expect(due.adapt(2, stale: true) == "wait 2")
    #expect(due.retry(3) == "wait 3")
    #expect(due.succeed(1, "late") == "fail [2, 3]: excessive")
    #expect(due.retry(4) == "refuse ExcessiveRefresh()")
  }

  @Test("None at all, and any number")
  func extremes() {
    var none = RefreshRig(times: RefreshTimes(interval: 30, maximumAttempts: 0))
    #expect(none.retry(1) == "excessive")
    var any = RefreshRig(times: nil)
    for call in 1...100 {
      #expect(any.retry(call).hasSuffix("refresh \(call) of a"))
      _ = any.fail(UInt64(call))
      _ = any.adapt(0)
    }
  }

  @Test("A failure's times are kept, and those of credentials that were set")
  func kept() {
    var rig = RefreshRig(times: RefreshTimes(interval: 10, maximumAttempts: 2))
    _ = rig.retry(1)
    _ = rig.fail(1, discards: true)
    _ = rig.set("b")
    _ = rig.retry(2)
    _ = rig.succeed(2, "c")
    _ = rig.set("d")
    #expect(rig.retry(3) == "excessive")
  }
}
