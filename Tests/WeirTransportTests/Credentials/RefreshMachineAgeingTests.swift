import Testing
import WeirIO

@testable import WeirTransport

@Suite("Refresh machine: credentials that age") struct RefreshAgeingTests {
  @Test("The first use of one that ages fetches the next, and nobody waits, whatever they saw")
  func background() {
    var rig = RefreshRig(ages: true)
    #expect(rig.adapt(1) == "apply a")
    #expect(rig.adapt(2, .soon) == "apply a, refresh 1 of a")
    #expect(rig.adapt(3, .soon) == "apply a", "one call at a time")
    #expect(rig.adapt(4) == "apply a")
    #expect(rig.machine.waiterCount == 0)
    #expect(rig.succeed(1, "b") == "release [] with 1")
    #expect(rig.adapt(5) == "apply b")
  }

  @Test("Requests wait only once it is of no use, all for one call")
  func waits() {
    var rig = RefreshRig(ages: true)
    #expect(rig.adapt(1, .soon) == "apply a, refresh 1 of a")
    #expect(rig.adapt(2, .now) == "wait 1", "the call under way is theirs")
    #expect(rig.adapt(3, .now) == "wait 2")
    #expect(rig.succeed(1, "b") == "release [2, 3] with 1")
    #expect(rig.adapt(2) == "apply b")
    var none = RefreshRig("none", ages: true)
    #expect(none.adapt(1, .now) == "wait 1, refresh 1 of none")
    for waiter in 2...2000 { #expect(none.adapt(waiter, .now) == "wait \(waiter)") }
    #expect(none.succeed(1, "a") == "release \(Array(1...2000)) with 1")
  }

  @Test("A refusal waits for the call that age has begun, and does not count")
  func refusedMeanwhile() {
    var rig = RefreshRig(times: RefreshTimes(interval: 30, maximumAttempts: 1), ages: true)
    #expect(rig.adapt(1, .soon) == "apply a, refresh 1 of a")
    #expect(rig.retry(2) == "wait 1")
    #expect(rig.adapt(3, .soon) == "apply a", "a refusal holds up no other request")
    #expect(rig.succeed(1, "b") == "release [2] with 1")
    #expect(rig.retry(3, seen: 0) == "retry 1", "the token has changed since: it is sent again at once")
    #expect(rig.retry(4) == "wait 2, refresh 2 of b", "the first that counts")
    _ = rig.succeed(2, "c")
    #expect(rig.retry(5) == "excessive")
  }

  @Test("One that is to be fetched before any use, and one that nobody waits for")
  func fetched() {
    var rig = RefreshRig("none", ages: true)
    #expect(rig.fetch() == ", refresh 1 of none")
    #expect(rig.fetch() == "")
    #expect(rig.refuse() == "")
    #expect(rig.adapt(1, .now) == "wait 1")
    #expect(rig.succeed(1, "a") == "release [1] with 1")
    #expect(rig.refuse(seen: 0) == "", "the refused one is gone")
    #expect(rig.refuse() == ", refresh 2 of a")
    #expect(rig.adapt(2) == "wait 2", "nothing is sent with what was refused")
    #expect(rig.succeed(2, "b") == "release [2] with 2")
    #expect(rig.set(nil) == "-")
    #expect(rig.fetch() == "" && rig.refuse() == "", "there is nothing to refresh")
  }

  @Test("While the call of a credential that was replaced has not ended, none begins for age or for a check")
  func replaced() {
    var rig = RefreshRig(ages: true)
    _ = rig.adapt(1, .soon)
    #expect(rig.set("b") == "release [] with 1")
    #expect(rig.adapt(2, .soon) == "apply b")
    #expect(rig.fetch() == "" && rig.refuse() == "")
    #expect(rig.adapt(3, .now) == "wait 1", "it is due")
    #expect(rig.fail(1) == "refresh 2 of b for 3")
    #expect(rig.silence == 0, "nobody wanted the one that failed")
    #expect(rig.succeed(2, "c") == "release [3] with 2")
  }

  @Test("A call in the background whose session is gone is made by the next use")
  func withdrawn() {
    var rig = RefreshRig(ages: true)
    _ = rig.adapt(1, .soon)
    #expect(rig.withdraw(1) == "[] ask again")
    #expect(rig.adapt(2, .soon) == "apply a, refresh 2 of a")
  }

  @Test("Without ageing nothing of this holds: a failure is followed at once, and all refreshes count")
  func withoutAgeing() {
    var rig = RefreshRig(times: RefreshTimes(interval: 30, maximumAttempts: 2))
    #expect(rig.adapt(1, .now) == "wait 1, refresh 1 of a")
    #expect(rig.fail(1, retryAfter: 60) == "fail [1]: failure")
    #expect(rig.silence == 0)
    #expect(rig.adapt(2, .now) == "wait 2, refresh 2 of a")
    _ = rig.succeed(2, "b")
    #expect(rig.adapt(3, .now) == "excessive")
    #expect(rig.machine.failure is ExcessiveRefresh)
  }
}

@Suite("Refresh machine: silence") struct RefreshSilenceTests {
  @Test("A good credential is used on, and fetched again only when the silence is over")
  func goodMeanwhile() {
    var rig = RefreshRig(ages: true)
    _ = rig.adapt(1, .soon)
    #expect(rig.fail(1) == "fail []: failure")
    #expect(rig.silence == 1)
    #expect(rig.adapt(2, .soon) == "apply a")
    #expect(rig.adapt(3) == "apply a")
    #expect(rig.fetch() == "" && rig.refuse() == "")
    #expect(rig.machine.failure != nil, "it is failing as long as it is silent")
    rig.pass(0.999)
    #expect(rig.adapt(4, .soon) == "apply a")
    rig.pass(0.001)
    #expect(rig.adapt(5, .soon) == "apply a, refresh 2 of a")
    #expect(rig.machine.failure == nil)
  }

  @Test("Once it is of no use requests are refused at once with the failure, and the seconds that are left")
  func refusedMeanwhile() {
    var rig = RefreshRig(ages: true)
    _ = rig.adapt(1, .now)
    #expect(rig.fail(1) == "fail [1]: failure")
    #expect(rig.adapt(2, .now) == "refuse failure")
    #expect(rig.retry(3) == "refuse failure", "nor does a refusal break it")
    rig.pass(0.25)
    #expect(rig.silence == 0.75)
    #expect(rig.adapt(4, .now) == "refuse failure")
    #expect(rig.machine.waiterCount == 0)
    rig.pass(0.75)
    #expect(rig.adapt(5, .now) == "wait 2, refresh 2 of a")
    _ = rig.fail(2)
    rig.pass(2)
    #expect(rig.retry(6) == "wait 3, refresh 3 of a", "a refusal after it begins a call")
  }

  @Test("A second, doubled with each failure in a row up to a minute, and ended by a success")
  func doubled() {
    var rig = RefreshRig(ages: true)
    for (index, seconds) in [1, 2, 4, 8, 16, 32, 60, 60, 60].enumerated() {
      #expect(rig.adapt(1, .now).hasSuffix("refresh \(index + 1) of a"))
      _ = rig.fail(UInt64(index + 1))
      #expect(rig.silence == Double(seconds))
      rig.pass(Double(seconds))
      #expect(rig.adapt(2) == "apply a", "a use between them changes nothing of its length")
    }
    _ = rig.adapt(1, .now)
    _ = rig.succeed(10, "b")
    #expect(rig.silence == 0)
    _ = rig.adapt(2, .soon)
    _ = rig.fail(11)
    #expect(rig.silence == 1)
  }

  @Test(
    "A fifth more or less, and as long as the failure asks for, up to a minute",
    arguments: [
      (0.0, nil, 0.8), (1, nil, 1.2), (0.5, 0, 1), (0.5, 0.5, 1), (0, 7, 7), (1, 7, 7), (0.5, 60, 60),
      (0.5, 61, 60), (0.5, 1e300, 60), (0.5, -5, 1),
    ] as [(Double, Double?, Double)])
  func length(random: Double, retryAfter: Double?, seconds: Double) {
    var rig = RefreshRig(ages: true)
    _ = rig.adapt(1, .now)
    _ = rig.fail(1, retryAfter: retryAfter, random: random)
    #expect(rig.silence == seconds)
  }

  @Test("A service that is down for a minute is asked six times")
  func aMinute() {
    var rig = RefreshRig(ages: true)
    var calls: UInt64 = 0
    for tenth in 0..<600 {
      if rig.adapt(tenth, .now).contains("refresh") {
        calls += 1
        _ = rig.fail(calls)
      }
      rig.pass(0.1)
    }
    #expect(calls == 6)
  }

  @Test("A credential that is set ends it")
  func set() {
    var rig = RefreshRig(ages: true)
    _ = rig.adapt(1, .now)
    _ = rig.fail(1, retryAfter: 60)
    #expect(rig.set("b") == "-")
    #expect(rig.silence == 0 && rig.machine.failure == nil)
    #expect(rig.adapt(2, .now) == "wait 2, refresh 2 of b")
    _ = rig.fail(2)
    #expect(rig.silence == 1, "the count begins anew")
  }

  @Test("A credential that is discarded is missing")
  func discarded() {
    var rig = RefreshRig(ages: true)
    _ = rig.adapt(1, .now)
    #expect(rig.fail(1, discards: true) == "fail [1]: failure")
    #expect(rig.adapt(2) == "missing")
    rig.pass(60)
    #expect(rig.fetch() == "")
  }
}

@Suite("Refresh machine: too many refusals") struct RefreshRefusalTests {
  @Test("Refusals alone count: age, expiry and a first fetch begin any number")
  func others() {
    var rig = RefreshRig("0", times: RefreshTimes(interval: 30, maximumAttempts: 1), ages: true)
    for call in 1...20 as ClosedRange<UInt64> {
      switch call % 3 {
      case 0: #expect(rig.adapt(1, .soon) == "apply \(call - 1), refresh \(call) of \(call - 1)")
      case 1: #expect(rig.adapt(1, .now).hasSuffix("refresh \(call) of \(call - 1)"))
      default: #expect(rig.fetch() == ", refresh \(call) of \(call - 1)")
      }
      _ = rig.succeed(call, "\(call)")
    }
    #expect(rig.retry(1).hasSuffix("refresh 21 of 20"))
  }

  @Test("More than the limit pass, until the interval is over; the credential stays in use and is fetched by age")
  func excessive() {
    var rig = RefreshRig("0", times: RefreshTimes(interval: 30, maximumAttempts: 5), ages: true)
    for call in 1...5 as ClosedRange<UInt64> {
      // Checks count as requests do.
      #expect((call == 3 ? rig.refuse() : rig.retry(1)).hasSuffix("refresh \(call) of \(call - 1)"))
      _ = rig.succeed(call, "\(call)")
      rig.pass(1)
    }
    #expect(rig.retry(2) == "excessive")
    #expect(rig.retry(3) == "excessive")
    #expect(rig.refuse() == "")
    #expect(rig.machine.failure == nil && rig.silence == 0)
    #expect(rig.adapt(4) == "apply 5")
    #expect(rig.adapt(5, .soon) == "apply 5, refresh 6 of 5")
    _ = rig.succeed(6, "6")
    rig.pass(24.9)
    #expect(rig.retry(6) == "excessive")
    rig.pass(0.2)
    #expect(rig.retry(7).hasSuffix("refresh 7 of 6"), "the first of them is more than the interval ago")
  }

  @Test("One that was withdrawn gives its turn back, but a call that did not count gives none")
  func withdrawn() {
    var rig = RefreshRig(times: RefreshTimes(interval: 30, maximumAttempts: 1), ages: true)
    #expect(rig.retry(1) == "wait 1, refresh 1 of a")
    #expect(rig.withdraw(1) == "[1] ask again")
    #expect(rig.retry(1) == "wait 2, refresh 2 of a")
    _ = rig.succeed(2, "b")
    #expect(rig.adapt(1, .soon) == "apply b, refresh 3 of b")
    #expect(rig.withdraw(3) == "[] ask again")
    #expect(rig.retry(1) == "excessive")
  }
}
