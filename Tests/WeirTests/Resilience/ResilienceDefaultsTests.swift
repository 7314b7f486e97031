import Testing
import Weir

@Suite("Resilience of a session by default") struct ResilienceDefaultsTests {
  @Test func retriesHaveABudgetAndTheRestIsAskedFor() {
    #expect(SessionConfiguration.default.retryBudget == RetryBudget())
    #expect(SessionConfiguration.default.circuitBreaker == nil)
    #expect(SessionConfiguration.default.overload == nil)
  }
}
