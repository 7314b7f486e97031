import Testing

@testable import WeirResolver

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
