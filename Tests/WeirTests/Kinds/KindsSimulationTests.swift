import Foundation
import Testing
import WeirTestSupport

@testable import Weir

/// Every kind of request against every kind of answer, with something done to it at whatever event, over real sockets.
///
/// `WEIR_KIND_SEEDS` says how many; `WEIR_KIND_SEED` runs a single one, with what happened in it.
@Suite("Kinds of requests, interfered with anywhere", .slow, .serialized, .timeLimit(.minutes(30)))
struct KindsSimulationTests {
  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  @Test("Each ends once, as it may, and leaves no request, file or descriptor behind")
  func anywhere() async throws {
    let seeds = Self.number("WEIR_KIND_SEED").map { $0...$0 } ?? 0...((Self.number("WEIR_KIND_SEEDS") ?? 400) - 1)
    // What the process makes once, it has made by then.
    for seed in 1_000_000..<UInt64(1_000_010) { _ = try await run(seed) }
    let descriptors = try ThisProcess.openDescriptors
    for seed in seeds {
      var (plan, wrong, events) = try await run(seed)
      do {
        try await eventually("the descriptors are closed") { try ThisProcess.openDescriptors <= descriptors + 2 }
      } catch {
        wrong.append("\(try ThisProcess.openDescriptors) descriptors in place of \(descriptors)")
      }
      if !wrong.isEmpty { Issue.record("\(plan): \(wrong)\nafter \(events)") }
      if seeds.count == 1 { print(plan, events) }
    }
  }

  private func run(_ seed: UInt64) async throws -> (KindPlan, [String], [String]) {
    let plan = KindPlan(seed: seed)
    let server = try KindServer()
    let (wrong, events) = try await KindTrial(plan, server).run()
    return (plan, wrong, events)
  }
}
