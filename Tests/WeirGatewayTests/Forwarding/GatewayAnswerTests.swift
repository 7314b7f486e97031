import Testing
import Weir

@testable import WeirGateway

@Suite struct GatewayAnswerTests {
  @Test(arguments: RequestOutcome.allCases)
  func everyOutcomeHasAnAnswer(outcome: RequestOutcome) {
    let answer = GatewayAnswer(outcome)
    let expected =
      switch outcome {
      case .timeout: 504
      case .rejected, .sessionEnded, .cancelled: 503
      default: 502
      }
    #expect(answer.status == expected)
    #expect(answer.text.hasSuffix("\n"))
    #expect(answer.retryAfter == nil)
    #expect(GatewayAnswer(outcome, nil) == answer)
  }

  @Test(arguments: [(4.2, 5), (5, 5), (0.01, 1), (nil, 1)] as [(Double?, Int)])
  func anOpenCircuitSaysWhenToComeAgain(seconds: Double?, expected: Int) {
    let answer = GatewayAnswer(.rejected, .rejected(.circuitOpen(retryAfter: seconds)))
    #expect(answer.status == 503)
    #expect(answer.retryAfter == expected)
    #expect(GatewayAnswer(.rejected, .rejected(.queueFull)).retryAfter == nil)
  }

  @Test(arguments: ShedReason.allCases)
  func aRefusalSaysWhy(reason: ShedReason) {
    let answer = GatewayAnswer(.rejected, .rejected(.overloaded(reason: reason, retryAfter: 1)))
    #expect(answer.status == 503)
    #expect(answer.retryAfter == 1)
    #expect(answer.refusal == reason)
    #expect(GatewayAnswer(.rejected, .rejected(.queueFull)).refusal == nil)
  }
}
