import Dispatch
import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

/// A session before a server that is asked for more than it can do, by callers who wait for a while.
///
/// Both keep to times, which under a sanitizer are those of the sanitizer. A machine that is busy with something else lets callers wait
/// too, so the best of three runs counts.
@Suite("Load control under load", .slow, .timeLimit(.minutes(5)), .disabled(if: ThisProcess.isSanitized))
struct OverloadLoadTests {
  private static let patience = 0.6

  private static func call(_ session: Session, _ url: String) async -> (SteadyCallers.Ending, wasSent: Bool) {
    let request = session.request(url)
    let timer = DispatchWorkItem { request.cancel() }
    DispatchQueue.global().asyncAfter(deadline: .now() + patience, execute: timer)
    let response = await request.serializingData().response
    timer.cancel()
    let ending: SteadyCallers.Ending =
      response.error == nil ? .good : response.error?.shedReason == nil ? .failed : .refused
    if ending == .refused {
      #expect(request.outcome == .rejected)
      #expect(request.attemptCount == 0)
    }
    return (ending, request.attemptCount > 0)
  }

  @Test("Good answers keep coming; other requests are refused at once, and do not reach the server")
  func goodAnswersGoOn() async throws {
    var told: [String] = []
    for _ in 0..<3 {
      let (good, served, wait) = try await run()
      told.append("\(good) good answers of \(served), \(wait) s until a refusal")
      // In the two and a half seconds that are measured, of which ten milliseconds go to each.
      if Double(good) >= 0.85 * Double(served), Double(served) >= 0.6 * 250, wait < Self.patience / 2 { return }
    }
    Issue.record("\(told)")
  }

  /// - Returns: The good answers, what the server has done meanwhile, and the median of the times until a refusal.
  private func run() async throws -> (good: Int, served: Int, wait: Double) {
    let origin = try SlowOrigin(seconds: 0.01)
    let recorder = OverloadRecorder()
    let asked = Journal<Bool>()
    let session = Session(
      configuration: .controlled(slots: 512),
      interceptor: Retrier {
        if $2.asWeirError?.shedReason != nil { asked.append(true) }
        $3(.doNotRetry)
      }, eventMonitors: [recorder])
    let sent = Journal<Bool>()
    let (calls, served) = await SteadyCallers.run(
      perSecond: [(40, 2), (160, 7)], measuredFrom: 6.5, served: { origin.served }
    ) {
      let (ending, wasSent) = await Self.call(session, origin.url)
      if wasSent { sent.append(true) }
      return ending
    }
    let refused = calls.filter { $0.ending == .refused }
    #expect(refused.count > 25, "\(refused.count) of \(calls.count)")
    #expect(asked.entries.isEmpty)
    #expect(recorder.states.entries.contains(.overloaded))
    #expect(recorder.abandoned.entries.contains(.upstream), "those who came before load control began")
    #expect(recorder.shed.entries.count >= refused.count)
    try await eventually("the server has worked off all that were sent") { origin.served == sent.entries.count }
    let waits = refused.map(\.took).sorted()
    return (calls.count { $0.ending == .good }, served, waits.isEmpty ? 0 : waits[waits.count / 2])
  }
}
