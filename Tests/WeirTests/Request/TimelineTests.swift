import Foundation
import Testing

@testable import Weir

@Suite struct TimelineTests {
  let timeline = Timeline(
    requestStartTime: 1, initialResponseTime: 1.428, requestCompletedTime: 2, serializationCompletedTime: 4.0004)

  @Test func durations() {
    #expect(abs(timeline.latency - 0.428) < 1e-9)
    #expect(timeline.requestDuration == 1)
    #expect(abs(timeline.serializationDuration - 2.0004) < 1e-9)
    #expect(abs(timeline.totalDuration - 3.0004) < 1e-9)
    #expect(Timeline() == Timeline(requestStartTime: 0, initialResponseTime: 0))
  }

  @Test func descriptions() {
    let durations =
      #""Latency": 0.428 secs, "Request Duration": 1.000 secs, "Serialization Duration": 2.000 secs, "#
      + #""Total Duration": 3.000 secs"#
    #expect(
      timeline.description == """
        latency         428.000 ms
        request        1000.000 ms
        serialization  2000.400 ms
        total          3000.400 ms
        """)
    let times =
      #""Request Start Time": 1.000, "Initial Response Time": 1.428, "Request Completed Time": 2.000, "#
      + #""Serialization Completed Time": 4.000"#
    #expect(timeline.debugDescription == "Timeline: { \(times), \(durations) }")
  }
}
