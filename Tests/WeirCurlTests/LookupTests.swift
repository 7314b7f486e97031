import CSlowResolver
import Synchronization
import Testing
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirCurl

/// Name lookups: each is a thread that nobody can stop.
@Suite(.timeLimit(.minutes(5)))
struct LookupTests {
  /// Names of one test, and what their lookups do.
  private struct Names {
    private static let tests = Atomic<Int>(0)
    let suffix: String

    init() {
      suffix = ".t\(Self.tests.add(1, ordering: .relaxed).newValue).weir.test"
    }

    func hanging(_ name: String) -> String {
      slow_resolver_add(name + suffix, 0)
      return name + suffix
    }

    func healthy(_ name: String) -> String {
      slow_resolver_add(name + suffix, 1)
      return name + suffix
    }

    /// Threads that are at it.
    var threads: Int { Int(slow_resolver_running(suffix)) }
  }

  private static func calls(_ name: String) -> Int { Int(slow_resolver_calls(name)) }

  @Test
  func requestsForOneNameShareALookupAndDelayNoOtherName() async throws {
    let server = try ScriptedServer(.answering(okResponse("fine")))
    let names = Names()
    let (slow, other) = (names.hanging("slow"), names.healthy("other"))
    let rig = try await EngineRig { $0.maximumConcurrentLookups = 4 }
    var waiting: [Running] = []
    for _ in 0..<40 { waiting.append(await rig.start(TransferSpec(url: "http://\(slow):\(server.port)/"))) }
    #expect(await rig.get("http://\(other):\(server.port)/").text == "fine")
    #expect(waiting.allSatisfy { !$0.isFinished })
    #expect(await eventually { names.threads == 1 })
    #expect(Self.calls(slow) == 1)
    #expect(await rig.onEngine { $0.runningLookups } == 1)
    slow_resolver_open(slow, 0)
    for transfer in waiting {
      let outcome = await transfer.outcome
      #expect(outcome.text == "fine")
      #expect(
        try #require(outcome.report).phases[.resolve] != nil, "the wait is part of what it took to resolve the name")
    }
    #expect(Self.calls(slow) == 1)
    #expect(await rig.onEngine { $0.runningLookups } == 0)
    await rig.close()
  }

  /// Ports are of no interest to the resolver, but libcurl remembers addresses for a name and a port.
  @Test
  func otherPortsOfANameWaitToo() async throws {
    let servers = try (0..<3).map { _ in try ScriptedServer(.answering(okResponse("fine"))) }
    let names = Names()
    let slow = names.hanging("slow")
    let rig = try await EngineRig()
    var waiting: [Running] = []
    for server in servers { waiting.append(await rig.start(TransferSpec(url: "http://\(slow):\(server.port)/"))) }
    #expect(await eventually { names.threads == 1 })
    #expect(await rig.onEngine { $0.runningLookups } == 1)
    slow_resolver_open(slow, 0)
    for transfer in waiting { #expect(await transfer.outcome.text == "fine") }
    #expect(await rig.onEngine { $0.runningLookups } == 0)
    await rig.close()
  }

  @Test
  func aLookupThatFailsFailsThoseWhoWaitedForIt() async throws {
    let names = Names()
    let missing = names.hanging("missing")
    let rig = try await EngineRig()
    var waiting: [Running] = []
    for _ in 0..<20 { waiting.append(await rig.start(TransferSpec(url: "http://\(missing)/"))) }
    #expect(await eventually { names.threads == 1 })
    // Who comes after the failure looks for itself.
    #expect(await eventually { await rig.onEngine { $0.libcurl.transfers.count { $0.lookup == .waiting } } == 19 })
    slow_resolver_open(missing, 1)
    for transfer in waiting {
      let outcome = await transfer.outcome
      #expect(outcome.error?.code == .couldNotResolveHost)
      #expect(outcome.error?.message.contains(missing) == true)
      #expect(outcome.report?.phases[.resolve] != nil)
    }
    #expect(Self.calls(missing) == 1)
    #expect(await rig.onEngine { $0.runningLookups } == 0)
    #expect(await rig.get("http://\(missing)/").error?.code == .couldNotResolveHost)
    #expect(Self.calls(missing) == 2, "who comes later looks for itself")
    await rig.close()
  }

  @Test
  func aTransferWaitsForANameAsLongAsItsRulesSay() async throws {
    let names = Names()
    let slow = names.hanging("slow")
    let rig = try await EngineRig()
    let patient = await rig.start(TransferSpec(url: "http://\(slow)/"))
    // The first one waits for the lookup of another transfer, the second for its own.
    for name in [slow, names.hanging("other")] {
      var spec = TransferSpec(url: "http://\(name)/")
      spec.rules = TransferRules(connectTimeout: 0.3)
      let outcome = await rig.transfer(spec)
      #expect(outcome.error?.message.hasPrefix("Resolving timed out") == true, "\(outcome)")
      #expect(try #require(outcome.report?.total) < 5)
      slow_resolver_open(name, 0)
    }
    _ = await patient.outcome
    await rig.close()
  }

  /// The caller is free when its time is over; the thread is not, and stays counted.
  @Test
  func timeoutsLeaveNoMoreThreadsThanMayRun() async throws {
    let server = try ScriptedServer(.answering(okResponse("fine")))
    let names = Names()
    let slow = (0..<8).map { names.hanging("slow\($0)") }
    let healthy = names.healthy("healthy")
    let rig = try await EngineRig { options in
      options.maximumConcurrentLookups = 4
      options.connectTimeout = 0.3
    }
    for _ in 0..<3 {
      var waiting: [Running] = []
      for name in slow + [healthy] {
        for _ in 0..<4 { waiting.append(await rig.start(TransferSpec(url: "http://\(name):\(server.port)/"))) }
      }
      for transfer in waiting {
        let outcome = await transfer.outcome
        let report = try #require(outcome.report)
        #expect(outcome.error?.code == .timedOut)
        #expect(outcome.error?.message.hasPrefix("Resolving timed out") == true)
        #expect(try #require(report.phases[.resolve]) > 0.25)
        #expect(try #require(report.phases[.resolve]) > 0.8 * report.total, "all of it was spent on the name")
        #expect(report.phases[.connect] == nil)
        #expect(report.total < 5)
      }
      #expect(await eventually { names.threads == 4 })
      #expect(await rig.onEngine { $0.runningLookups } == 4)
    }
    #expect(server.connectionCount == 0)
    for name in slow { slow_resolver_open(name, 0) }
    #expect(await eventually { await rig.onEngine { $0.runningLookups } == 0 })
    #expect(await eventually { await rig.onEngine { $0.activeTransfers } == 0 })
    #expect(await rig.get("http://\(healthy):\(server.port)/").text == "fine")
    await rig.close()
  }

  /// 32 is the limit; the 33rd name waits for one of them.
  @Test
  func aNameThatWaitsForAPlaceGetsTheFirst() async throws {
    let server = try ScriptedServer(.answering(okResponse("fine")))
    let names = Names()
    let slow = (0..<32).map { names.hanging("slow\($0)") }
    let healthy = names.healthy("healthy")
    let rig = try await EngineRig()
    var waiting: [Running] = []
    for name in slow { waiting.append(await rig.start(TransferSpec(url: "http://\(name):\(server.port)/"))) }
    #expect(await eventually { names.threads == 32 })
    let last = await rig.start(TransferSpec(url: "http://\(healthy):\(server.port)/"))
    #expect(await rig.onEngine { $0.runningLookups } == 32)
    #expect(Self.calls(healthy) == 0)
    slow_resolver_open(slow[7], 0)
    #expect(await last.outcome.text == "fine")
    #expect(await waiting[7].outcome.text == "fine")
    #expect(names.threads == 31)
    for name in slow { slow_resolver_open(name, 0) }
    for transfer in waiting { #expect(await transfer.outcome.text == "fine") }
    #expect(await rig.onEngine { $0.runningLookups } == 0)
    await rig.close()
  }

  @Test
  func cancelledLookupsStayCountedAndTheNextForTheNameWaits() async throws {
    let server = try ScriptedServer(.answering(okResponse("fine")))
    let names = Names()
    let slow = names.hanging("slow")
    let rig = try await EngineRig()
    let url = "http://\(slow):\(server.port)/"
    let first = await rig.start(TransferSpec(url: url))
    #expect(await eventually { names.threads == 1 })
    await first.onTransfer { transfer, _ in transfer.cancel() }
    #expect(await first.outcome.error?.kind == .cancelled)
    let second = await rig.start(TransferSpec(url: url))
    #expect(await rig.onEngine { $0.runningLookups } == 1)
    #expect(Self.calls(slow) == 1)
    slow_resolver_open(slow, 0)
    #expect(await second.outcome.text == "fine")
    #expect(await eventually { await rig.onEngine { $0.activeTransfers } == 0 })
    #expect(await rig.onEngine { $0.runningLookups } == 0)
    await rig.close()
  }

  /// The engine's end doesn't wait for the resolver.
  @Test
  func closeWhileANameHangs() async throws {
    let names = Names()
    let slow = names.hanging("slow")
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: "http://\(slow)/"))
    let waiting = await rig.start(TransferSpec(url: "http://\(slow)/"))
    #expect(await eventually { names.threads == 1 })
    await rig.close()
    #expect(await running.outcome.error?.kind == .engineClosed)
    #expect(await waiting.outcome.error?.kind == .engineClosed)
    #expect(names.threads == 1)
    slow_resolver_open(slow, 0)
    #expect(await eventually { names.threads == 0 })
  }
}
