import Testing

@testable import WeirResolver

@Suite struct QuestionTests {
  @Test func namesDifferByMoreThanTheirCase() {
    #expect(Question.addresses(of: "Pay.Internal") == .addresses(of: "pay.internal"))
    #expect(Question.addresses(of: "pay.internal.") != .addresses(of: "pay.internal"))
    #expect(Question.addresses(of: "pay.internal", family: .ipv4) != .addresses(of: "pay.internal"))
    #expect(Question.services(of: "pay.internal") != .addresses(of: "pay.internal"))
  }

  @Test func descriptions() {
    #expect(Question.addresses(of: "Pay.internal").description == "pay.internal")
    #expect(Question.services(of: "_https._tcp.pay").description == "SRV _https._tcp.pay")
  }

  @Test(arguments: [
    (LookupProblem.timeout, "timeout"), (.noSuchName, "no_such_name"), (.noAddresses, "no_addresses"),
    (.serverFailure, "server_failure"), (.refused, "refused"), (.other("text"), "other"),
  ])
  func labelsOfProblems(_ problem: LookupProblem, _ label: String) {
    #expect(problem.label == label)
    #expect(!problem.description.isEmpty)
  }
}
