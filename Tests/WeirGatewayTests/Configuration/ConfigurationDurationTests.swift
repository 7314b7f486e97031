import Testing

@testable import WeirGateway

@Suite struct ConfigurationDurationTests {
  @Test(
    arguments: [
      ("30s", .seconds(30)), ("500ms", .milliseconds(500)), ("1m", .seconds(60)), ("1m30s", .seconds(90)),
      ("2h", .seconds(7200)), ("1d", .seconds(86_400)), ("1.5s", .milliseconds(1500)), ("0.1s", .milliseconds(100)),
      ("10", .seconds(10)), ("0", .zero), ("0.25", .milliseconds(250)), ("1h1ms", .milliseconds(3_600_001)),
      ("", nil), ("s", nil), ("-1s", nil), ("1 s", nil), ("1s1m", nil), ("1s1s", nil), ("1x", nil), ("1.s", nil),
      (".5s", nil), ("1..5s", nil), ("1.2.3s", nil), ("1m30", nil), ("1e3s", nil), ("99999999999999999999d", nil),
      ("1sec", nil), ("١s", nil), ("1S", nil), ("0x1s", nil),
    ] as [(String, Duration?)])
  func parses(text: String, expected: Duration?) {
    #expect(ConfigurationDuration.parse(text) == expected)
  }
}
