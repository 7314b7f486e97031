import Foundation
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

/// Many requests of all kinds, many at once, most of them by one session that stays.
///
/// `WEIR_STRESS_REQUESTS` says how many; a few thousand without it.
@Suite("Kinds of requests in great number", .slow, .serialized, .timeLimit(.minutes(60)))
struct KindsStressTests {
  private static let count =
    ProcessInfo.processInfo.environment["WEIR_STRESS_REQUESTS"].flatMap { UInt64($0) } ?? 2_000
  private static let atOnce = 24
  /// After so many the server makes room for another, as it keeps what it received.
  private static let perServer: UInt64 = 500

  @Test("They leave no live request, descriptor or temporary file, and memory stays as it is")
  func all() async throws {
    let descriptors = try ThisProcess.openDescriptors
    let wrong = Journal<String>()
    var resident: [Int] = []
    do {
      let room = try KindRoom()
      let session = Self.session(room)
      var next: UInt64 = 0
      while next < Self.count {
        let end = min(Self.count, next + Self.perServer)
        try await run(next..<end, session, room, wrong)
        next = end
        if next >= UInt64(resident.count + 1) * Self.count / 10 { resident.append(try ThisProcess.residentBytes) }
      }
      #expect(wrong.entries.isEmpty, "\(wrong.entries.count) went wrong: \(wrong.entries.prefix(10))")
      #expect(await session.activeRequests.isEmpty)
      try await eventually("no file is left: \(room.left.prefix(10))") { room.left.isEmpty }
    }
    let growth = try ThisProcess.residentBytes - (resident.dropFirst().first ?? 0)
    if !ThisProcess.isSanitized { #expect(growth < 24 << 20, "grew by \(growth >> 10) KiB after a fifth of them") }
    try await eventually("the descriptors are closed") { try ThisProcess.openDescriptors <= descriptors + 3 }
    print("\(Self.count) requests, MiB after each tenth of them: \(resident.map { $0 >> 20 })")
  }

  private func run(
    _ seeds: Range<UInt64>, _ session: Session, _ room: KindRoom, _ wrong: Journal<String>
  ) async throws {
    let server = try KindServer()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for seed in seeds {
        if seed >= seeds.lowerBound + UInt64(Self.atOnce) { try await group.next() }
        group.addTask {
          let plan = KindPlan(seed: seed)
          let result = try await KindTrial(plan, server, by: plan.endsSession ? nil : (session, room)).run()
          if !result.wrong.isEmpty { wrong.append("\(plan): \(result.wrong)") }
        }
      }
      try await group.waitForAll()
    }
  }

  private static func session(_ room: KindRoom) -> Session {
    var configuration = SessionConfiguration.default
    configuration.downloadDirectory = room.partialDirectory
    configuration.retryBudget = nil
    return Session(
      configuration: configuration, startRequestsImmediately: false, serializationQueue: DispatchQueue(label: "values"))
  }
}
