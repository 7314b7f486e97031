import Dispatch
import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

/// A session before a server that is asked for more than it can do, by callers who wait for a while.
///
/// Both keep to times, which under a sanitizer are those of the sanitizer.
@Suite("Load control under load", .slow, .timeLimit(.minutes(1)), .disabled(if: ThisProcess.isSanitized))
struct OverloadLoadTests {
  private static let patience = 0.3

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
    let origin = try SlowOrigin(seconds: 0.005)
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
      perSecond: [(80, 2), (320, 5.5)], measuredFrom: 5, served: { origin.served }
    ) {
      let (ending, wasSent) = await Self.call(session, origin.url)
      if wasSent { sent.append(true) }
      return ending
    }
    let good = calls.count { $0.ending == .good }
    let refused = calls.filter { $0.ending == .refused }
    #expect(Double(good) >= 0.85 * Double(served), "\(good) good answers of \(served)")
    #expect(Double(served) >= 0.6 * 2.5 / 0.0055, "\(served) answers in two and a half seconds")
    #expect(refused.count > 50, "\(refused.count) of \(calls.count)")
    let waits = refused.map(\.took).sorted()
    #expect(waits.isEmpty || waits[waits.count / 2] < 0.15, "\(waits[waits.count / 2]) s until a refusal")
    #expect(asked.entries.isEmpty)
    #expect(recorder.states.entries.contains(.overloaded))
    #expect(recorder.abandoned.entries.contains(.upstream), "those who came before load control began")
    #expect(recorder.shed.entries.count >= refused.count)
    try await eventually("the server has worked off all that were sent") { origin.served == sent.entries.count }
  }
}
