import Testing
import Weir
import WeirTransport

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
    #expect(answer.refusal == .load(reason))
    #expect(GatewayAnswer(.rejected, .rejected(.queueFull)).refusal == nil)
  }

  @Test(arguments: [(0, 1), (0.3, 1), (7.2, 8)])
  func aMissingTokenSaysWhenToComeAgain(seconds: Double, expected: Int) {
    let refusal = CredentialRefusal(credential: "c", reason: .invalidClient, text: "s3cret", retryAfter: seconds)
    let answer = GatewayAnswer(.adaptationFailed, .unauthenticated(refusal))
    #expect(answer.status == 503)
    #expect(answer.retryAfter == expected)
    #expect(answer.refusal?.reason == "credential")
    #expect(answer.refusal?.kind == "credential")
    #expect(!answer.text.contains("s3cret"))
  }
}
