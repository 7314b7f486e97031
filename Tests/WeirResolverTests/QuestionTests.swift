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

/// The time of one try, by the timeout of all.
@Suite struct AresSettingsTests {
  @Test(arguments: [
    (2.0, 1), (2, 2), (2, 3), (2, 4), (0.1, 1), (0.1, 4), (30, 1), (30, 4),
  ])
  func twoTriesAtAllServersFit(_ timeout: Double, _ servers: Int) {
    let settings = AresSettings(servers: .system, resolvConf: "", timeout: timeout)
    let first = Int(settings.millisecondsPerTry(serverCount: servers))
    let all = first * servers + 2 * first * servers
    #expect(first >= 1)
    #expect(Double(all) <= timeout * 900)
    #expect(Double(all + 3 * servers) > timeout * 900)
  }

  @Test func tinyTimeoutsStillTry() {
    let settings = AresSettings(servers: .system, resolvConf: "", timeout: 0.001)
    #expect(settings.millisecondsPerTry(serverCount: 4) == 1)
  }
}
