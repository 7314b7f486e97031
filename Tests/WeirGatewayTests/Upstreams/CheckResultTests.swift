import Testing
import WeirCurl
import WeirIO
import WeirTransport

@testable import WeirGateway

@Suite("Results of checks") struct CheckResultTests {
  private let advice = TransferAdvice(options: TransportOptions())

  @Test(arguments: [
    (200, [200...399], CheckResult.good), (399, [200...399], .good), (400, [200...399], .status),
    (503, [200...399], .status), (204, [200...200, 204...204], .good), (201, [200...200, 204...204], .status),
    (101, [200...399], .status),
  ])
  func theStatusDecides(status: Int, good: [ClosedRange<Int>], result: CheckResult) {
    var answer = CheckAnswer()
    #expect(answer.outcome(nil, good: good) == nil)
    answer.head(status)
    let outcome = answer.outcome(nil, good: good)
    #expect(outcome?.result == result)
    #expect(outcome?.problem == (result == .good ? "" : "answered with status \(status)"))
    #expect(answer.outcome(.connectionLost, good: good) == nil)
  }

  @Test func aLongBodyIsCutAndCountsByItsStatus() {
    var answer = CheckAnswer()
    answer.head(200)
    let isReadOn = [65_000, 536, 1].map { answer.body($0) }
    #expect(isReadOn == [true, true, false])
    #expect(answer.outcome(.stopped, good: [200...399]) == .good)
    #expect(answer.outcome(.stopped, good: [204...204])?.result == .status)
  }

  @Test(arguments: [
    (TransferError(.curl, code: .couldNotConnect, message: "no"), CheckResult.connection),
    (TransferError(.curl, code: .timedOut, message: "late"), .timeout),
    (TransferError(.curl, code: .peerFailedVerification, message: "bad", certificateDefect: .expired), .tls),
    (TransferError(.curl, code: .tlsConnect, message: "bad"), .tls),
    (TransferError(.curl, code: .pinnedPublicKeyMismatch, message: "bad"), .tls),
    (TransferError(.malformedHead, message: "garbage"), .connection),
    (TransferError(.headTooLarge, message: "long"), .connection),
    (TransferError(.addressRefused, message: "refused"), .connection),
    (TransferError(.connectionLost, message: "lost"), .connection),
  ])
  func failuresHaveALabel(error: TransferError, result: CheckResult) {
    let outcome = CheckOutcome(error, advice: advice)
    #expect(outcome?.result == result)
    #expect(outcome?.problem.hasPrefix(error.message) == true)
  }

  /// But a proxy that could not reach the endpoint says so.
  @Test(arguments: [(403, false), (407, false), (502, true), (503, true), (504, true)])
  func failuresOfProxiesSayNothing(status: Int, counts: Bool) {
    let refused = TransferError(.proxyRefused, message: "no", proxyStatus: status)
    #expect((CheckOutcome(refused, advice: advice)?.result == .connection) == counts)
    for kind in [TransferError.Kind.proxyUnauthorized, .proxyUnreachable, .proxyTimeout, .proxyTLS] {
      #expect(CheckOutcome(TransferError(kind, message: "no"), advice: advice) == nil)
    }
  }

  @Test func ourOwnDefectsSayNothing() {
    #expect(CheckOutcome(TransferError(.noSocket, message: "none"), advice: advice) == nil)
    #expect(CheckOutcome(TransferError(.curl, code: .outOfMemory, message: "none"), advice: advice) == nil)
  }

  @Test func countsGoWithTheirEndpoint() {
    let counts = CheckCounts()
    func time(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 0).advanced(bySeconds: seconds) }
    counts.count(.good, at: "a:1")
    counts.count(.good, at: "a:1")
    counts.count(.tls, at: "b:1")
    counts.follow(["a:1", "b:1"], at: time(0))
    counts.follow(["a:1"], at: time(10))
    counts.follow(["a:1"], at: time(69))
    #expect(counts.number(of: .tls, at: "b:1") == 1)
    counts.follow(["a:1", "b:1"], at: time(69.5))
    counts.follow(["a:1"], at: time(100))
    counts.follow(["a:1"], at: time(159))
    #expect(counts.number(of: .tls, at: "b:1") == 1)
    counts.follow(["a:1"], at: time(160))
    #expect(counts.all == ["a:1": [.good: 2]])
  }
}
