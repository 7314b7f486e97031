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
  }
}
