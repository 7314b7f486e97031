import Testing
import WeirCurl
import WeirTestSupport

@testable import WeirGateway

@Suite struct ProbeReportTests {
  @Test func showsATable() {
    let report = ProbeReport(
      outcome: "200 over HTTP/1.1",
      facts: [("address", "127.0.0.1:8080"), ("body", "12 bytes")],
      phases: [.queue: 0.00001, .connect: 0.00099, .processing: 0.098, .transfer: 0.001, .serialization: 0],
      total: .milliseconds(100))
    #expect(
      report.text(width: 20) == """
        200 over HTTP/1.1
        address  127.0.0.1:8080
        body     12 bytes

        phase               start        time
        queue            0.000 ms    0.010 ms  #
        connect          0.010 ms    0.990 ms  #
        processing       1.000 ms   98.000 ms  ####################
        transfer        99.000 ms    1.000 ms                     #
        serialization  100.000 ms    0.000 ms
        total                      100.000 ms

        """)
  }

  @Test func aFailureHasNoTable() {
    let report = ProbeReport(outcome: "failed: \u{1b}[31mno", facts: [], phases: [:], total: .zero)
    #expect(report.text() == "failed: \u{fffd}[31mno\n")
  }

  @Test(arguments: [
    (
      "The transfer failed: Failed to connect to h port 1: Connection refused",
      "Failed to connect to h port 1: Connection refused"
    ), ("The request was cancelled.", "The request was cancelled."), ("Not a URL: x", "Not a URL: x"),
  ])
  func saysWhyOnce(text: String, expected: String) {
    #expect(ProbeReport.reason(text) == expected)
  }

  @Test(arguments: [
    (Duration.zero, "0.000 ms"), (.microseconds(1), "0.001 ms"), (.seconds(1), "1000.000 ms"),
    (.microseconds(-5), "-0.005 ms"), (.seconds(Int64.max), "9223372036854775.807 ms"),
  ])
  func showsMilliseconds(duration: Duration, expected: String) {
    #expect(ProbeReport.milliseconds(duration) == expected)
  }
}
