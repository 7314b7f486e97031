import Dispatch
import Foundation
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirExporter

@Suite struct GatekeeperTests {
  private let loop: EventLoop
  private let other: EventLoop
  private let gatekeeper: Gatekeeper
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
    other = try EventLoop(name: "other")
    gatekeeper = Gatekeeper(try AccessRules(access), limits: .exporter) { [hasher] in hasher.verify($0, $1) }
  }

  private static func basic(_ name: String, _ password: String) -> String {
    "Basic " + Data("\(name):\(password)".utf8).base64EncodedString()
  }

  private func verdict(_ authorization: String?) async -> Gatekeeper.Verdict {
    await withCheckedContinuation { continuation in
      ask(authorization, of: nil, on: loop) { continuation.resume(returning: $0) }
    }
  }

  private func ask(
    _ authorization: String?, of client: IPAddress?, on loop: EventLoop,
    _ completion: @escaping @Sendable (Gatekeeper.Verdict) -> Void
  ) {
    loop.post { [gatekeeper] in
      let verdict = gatekeeper.admit(authorization, of: client, on: loop) { verdict in
        loop.preconditionCurrent()
        completion(verdict)
      }
      if let verdict { completion(verdict) }
    }
  }

  private static let quick = Gatekeeper.Verdict.granted(user: Array("quick".utf8))

  @Test(
    arguments: [
      (nil, .denied), ("", .denied), ("Digest x", .denied), ("Bearer token", .granted(user: nil)),
      ("Bearer tokem", .denied),
      (Self.basic("quick", "right"), quick), (Self.basic("quick", "wrong"), .denied),
      (Self.basic("slow", "right"), .granted(user: Array("slow".utf8))),
      (Self.basic("nobody", "right"), .denied),
      (Self.basic("", "right"), .denied), (Self.basic("QUICK", "right"), .denied),
    ] as [(String?, Gatekeeper.Verdict)])
  func whoIsLetIn(authorization: String?, expected: Gatekeeper.Verdict) async {
    #expect(await verdict(authorization) == expected)
    #expect(await verdict(authorization) == expected, "and again")
  }

  @Test func whatWasRightIsNotHashedAgain() async {
    for _ in 0..<5 { #expect(await verdict(Self.basic("quick", "right")) == Self.quick) }
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
    try await eventually("all are let in") { verdicts.all == Array(repeating: Self.quick, count: 30) }
    #expect(hasher.costs.withLock { $0.count } == 1)
  }

  @Test func theQueueIsShortAndTheLoopFree() async throws {
    hasher.close()
    let verdicts = Verdicts()
    // One at the worker, the rest in its queue.
    for number in 0...Gatekeeper.Limits.exporter.waiting { ask(Self.basic("quick", "wrong \(number)"), verdicts) }
    #expect(await verdict(Self.basic("quick", "right")) == .busy)
    #expect(await verdict("Bearer token") == .granted(user: nil), "tokens don't wait")
    #expect(verdicts.all.isEmpty)
    hasher.open()
    try await eventually("all are refused") {
      verdicts.all == Array(repeating: .denied, count: Gatekeeper.Limits.exporter.waiting + 1)
    }
    #expect(await verdict(Self.basic("quick", "right")) == Self.quick)
    hasher.close()
    #expect(await verdict(Self.basic("quick", "right")) == Self.quick, "who was let in before doesn't wait")
  }

  /// Requests of two loops wait for one hash, and each is answered on its own.
  @Test func severalLoopsShareIt() async throws {
    hasher.close()
    let verdicts = Verdicts()
    for loop in [loop, other, loop, other] {
      ask(Self.basic("quick", "right"), of: .v4(1), on: loop) { verdicts.add($0) }
    }
    try await eventually("the worker has begun") { hasher.costs.withLock { $0.count } == 1 }
    hasher.open()
    try await eventually("all are let in") { verdicts.all == Array(repeating: Self.quick, count: 4) }
    #expect(hasher.costs.withLock { $0.count } == 1)
  }

  /// IPv6 clients choose the last 64 bits of their addresses themselves.
  @Test func aGuesserIsBarredByItsNetwork() async throws {
    let gatekeeper = Gatekeeper(gatekeeper.rules, limits: .gateway) { [hasher] in hasher.verify($0, $1) }
    func verdict(_ password: String, _ client: IPAddress) async -> Gatekeeper.Verdict {
      await withCheckedContinuation { continuation in
        loop.post { [loop] in
          let verdict = gatekeeper.admit(Self.basic("quick", password), of: client, on: loop) {
            continuation.resume(returning: $0)
          }
          if let verdict { continuation.resume(returning: verdict) }
        }
      }
    }
    for number in 0..<10 {
      #expect(await verdict("wrong \(number)", .v6(high: 0x2001_0db8_0000_0001, low: UInt64(number))) == .denied)
    }
    guard case .barred(let seconds) = await verdict("right", .v6(high: 0x2001_0db8_0000_0001, low: 99)) else {
      Issue.record("it is not barred")
      return
    }
    #expect(seconds > 0 && seconds <= 60)
    #expect(hasher.costs.withLock { $0.count } == 10)
    #expect(await verdict("right", .v6(high: 0x2001_0db8_0000_0002, low: 0)) == Self.quick)
    // Two spellings of one IPv4 address.
    for number in 0..<10 { _ = await verdict("no \(number)", .v4(0x0102_0304)) }
    guard case .barred = await verdict("right", .v6(high: 0, low: 0xffff_0102_0304)) else {
      Issue.record("it is not barred")
      return
    }
  }

  private func ask(_ authorization: String, _ verdicts: Verdicts) {
    ask(authorization, of: nil, on: loop) { verdicts.add($0) }
  }

  private final class Verdicts: Sendable {
    private let list = Mutex<[Gatekeeper.Verdict]>([])

    var all: [Gatekeeper.Verdict] { list.withLock { $0 } }
    func add(_ verdict: Gatekeeper.Verdict) { list.withLock { $0.append(verdict) } }
  }
}
