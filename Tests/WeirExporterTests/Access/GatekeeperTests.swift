import Dispatch
import Foundation
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirExporter

@Suite struct GatekeeperTests {
  private let loop: EventLoop
  private let gatekeeper: LoopBound<Gatekeeper>
  private let hasher = Hasher()

  /// Takes "right" for every hash's password, waits while it is told to, and notes what it was asked.
  private final class Hasher: Sendable {
    let costs = Mutex<[Int]>([])
    private let gate = DispatchSemaphore(value: 0)
    private let isClosed = Atomic(false)

    func close() { isClosed.store(true, ordering: .sequentiallyConsistent) }

    func open() {
      isClosed.store(false, ordering: .sequentiallyConsistent)
      gate.signal()
    }

    func verify(_ password: [UInt8], _ hash: BcryptHash) -> Bool {
      costs.withLock { $0.append(hash.cost) }
      if isClosed.load(ordering: .sequentiallyConsistent) { _ = gate.wait(timeout: .now() + 20) }
      return password == Array("right".utf8)
    }
  }

  init() throws {
    loop = try EventLoop(name: "test")
    let access = AccessControl(users: ["quick": Sample.secret, "slow": Sample.slower], bearerTokens: ["token"])
    gatekeeper = LoopBound(
      Gatekeeper(try AccessRules(access), on: loop) { [hasher] in hasher.verify($0, $1) }, on: loop)
  }

  private static func basic(_ name: String, _ password: String) -> String {
    "Basic " + Data("\(name):\(password)".utf8).base64EncodedString()
  }

  private func verdict(_ authorization: String?) async -> Gatekeeper.Verdict {
    await withCheckedContinuation { continuation in
      loop.post { gatekeeper.value.admit(authorization) { continuation.resume(returning: $0) } }
    }
  }

  @Test(
    arguments: [
      (nil, .denied), ("", .denied), ("Digest x", .denied), ("Bearer token", .granted), ("Bearer tokem", .denied),
      (Self.basic("quick", "right"), .granted), (Self.basic("quick", "wrong"), .denied),
      (Self.basic("slow", "right"), .granted), (Self.basic("nobody", "right"), .denied),
      (Self.basic("", "right"), .denied), (Self.basic("QUICK", "right"), .denied),
    ] as [(String?, Gatekeeper.Verdict)])
  func whoIsLetIn(authorization: String?, expected: Gatekeeper.Verdict) async {
    #expect(await verdict(authorization) == expected)
    #expect(await verdict(authorization) == expected, "and again")
  }

  @Test func whatWasRightIsNotHashedAgain() async {
    for _ in 0..<5 { #expect(await verdict(Self.basic("quick", "right")) == .granted) }
    #expect(hasher.costs.withLock { $0 } == [4])
    for _ in 0..<2 { #expect(await verdict(Self.basic("quick", "wrong")) == .denied) }
    #expect(hasher.costs.withLock { $0 } == [4, 4, 4], "what was wrong is")
  }

  @Test func aNameThatNobodyHasCostsAsMuchAsTheSlowestHash() async {
    #expect(await verdict(Self.basic("nobody", "right")) == .denied)
    #expect(hasher.costs.withLock { $0 } == [6])
  }

  @Test func scrapersThatBeginTogetherShareOneHash() async throws {
    hasher.close()
    let verdicts = Verdicts()
    for _ in 0..<30 { ask(Self.basic("quick", "right"), verdicts) }
    try await eventually("the worker has begun") { hasher.costs.withLock { $0.count } == 1 }
    hasher.open()
    try await eventually("all are let in") { verdicts.all == Array(repeating: .granted, count: 30) }
    #expect(hasher.costs.withLock { $0.count } == 1)
  }

  @Test func theQueueIsShortAndTheLoopFree() async throws {
    hasher.close()
    let verdicts = Verdicts()
    // One at the worker, the rest in its queue.
    for number in 0...Gatekeeper.queueLimit { ask(Self.basic("quick", "wrong \(number)"), verdicts) }
    #expect(await verdict(Self.basic("quick", "right")) == .busy)
    #expect(await verdict("Bearer token") == .granted, "tokens don't wait")
    #expect(verdicts.all.isEmpty)
    hasher.open()
    try await eventually("all are refused") {
      verdicts.all == Array(repeating: .denied, count: Gatekeeper.queueLimit + 1)
    }
    #expect(await verdict(Self.basic("quick", "right")) == .granted)
    hasher.close()
    #expect(await verdict(Self.basic("quick", "right")) == .granted, "who was let in before doesn't wait")
  }

  private func ask(_ authorization: String, _ verdicts: Verdicts) {
    loop.post { gatekeeper.value.admit(authorization) { verdicts.add($0) } }
  }

  private final class Verdicts: Sendable {
    private let list = Mutex<[Gatekeeper.Verdict]>([])

    var all: [Gatekeeper.Verdict] { list.withLock { $0 } }
    func add(_ verdict: Gatekeeper.Verdict) { list.withLock { $0.append(verdict) } }
  }
}
