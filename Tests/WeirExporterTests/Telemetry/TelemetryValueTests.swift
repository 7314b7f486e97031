import Testing
import WeirIO
import WeirMetrics
import WeirOTLP

@testable import WeirExporter

@Suite struct TelemetryResourceTests {
  private static let facts = TelemetryResource.Facts(host: "h", processID: 7, instance: "i", program: "p")

  private func text(_ settings: TelemetrySettings = TelemetrySettings(), isOurs: Bool = true) -> [String: String] {
    let service = isOurs ? (name: "weir", version: "1") : nil
    let attributes = TelemetryResource.attributes(settings, service: service, of: Self.facts)
    return Dictionary(uniqueKeysWithValues: attributes.map { ($0.key, "\($0.value)") })
  }

  @Test func theProcessIsThere() {
    let text = text()
    #expect(text["service.name"] == "string(\"weir\")" && text["service.version"] == "string(\"1\")")
    #expect(text["host.name"] == "string(\"h\")" && text["process.pid"] == "integer(7)")
    #expect(text["service.instance.id"] == "string(\"i\")" && text["telemetry.sdk.name"] == "string(\"weir\")")
    #expect(text["telemetry.sdk.language"] == "string(\"swift\")" && text["telemetry.sdk.version"] != nil)
  }

  @Test func settingsComeFirst() {
    var settings = TelemetrySettings()
    settings.resource = ["service.name": "a", "host.name": "other", "team": "b"]
    #expect(text(settings)["service.name"] == "string(\"a\")" && text(settings)["host.name"] == "string(\"other\")")
    #expect(text(settings)["team"] == "string(\"b\")")
    settings.serviceName = "c"
    #expect(text(settings)["service.name"] == "string(\"c\")")
    #expect(text(isOurs: false)["service.name"] == "string(\"unknown_service:p\")")
    #expect(text(isOurs: false)["service.version"] == nil)
  }

  @Test func twoProcessesDiffer() {
    #expect(TelemetryResource.Facts.process.instance == TelemetryResource.Facts.process.instance)
    #expect(TelemetryResource.Facts.process.instance.utf8.count == 36)
  }
}

@Suite struct TelemetryNoticesTests {
  private static func at(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1).advanced(bySeconds: seconds)
  }

  @Test func oneOfAKindInAMinute() {
    var notices = TelemetryNotices(.traces)
    #expect(notices.note(.dropped, 0, "a", at: Self.at(0)) == nil)
    #expect(notices.note(.dropped, 2, "a", at: Self.at(0))?.count == 2)
    #expect(notices.note(.dropped, 3, "b", at: Self.at(59)) == nil)
    #expect(notices.note(.trouble, 1, "c", at: Self.at(59))?.text == "c")
    #expect(
      notices.note(.dropped, 4, "d", at: Self.at(60))
        == TelemetryNotice(signal: .traces, kind: .dropped, text: "d", count: 7))
  }

  @Test func successAfterTroubleIsTold() {
    var notices = TelemetryNotices(.metrics)
    #expect(notices.recovered(at: Self.at(0)) == nil)
    _ = notices.note(.trouble, 1, "a", at: Self.at(1))
    #expect(notices.recovered(at: Self.at(2))?.kind == .recovered)
    #expect(notices.recovered(at: Self.at(3)) == nil)
  }
}

@Suite struct SpanQueueTests {
  @Test func whatFindsNoRoomIsCounted() throws {
    let registry = Registry()
    let dropped = try registry.counter("dropped_total", help: "")
    let late = try registry.counter("late_total", help: "")
    let rings = try registry.counter("rings_total", help: "")
    let queue = SpanQueue(limit: 5, batch: 3, dropped: dropped, late: late) { rings.increment() }
    queue.add(Span.samples(2))
    #expect(rings.value == 0)
    queue.add(Span.samples(2))
    queue.add(Span.samples(2))
    #expect(rings.value == 1 && dropped.value == 1 && queue.count == 5 && queue.takeLosses() == 1)
    #expect(queue.waitingCount == 5 && queue.next().map(\.count) == [2] && queue.waitingCount == 3)
    // Those under way count until they have left.
    queue.add(Span.samples(1))
    #expect(dropped.value == 2 && queue.takeLosses() == 1)
    queue.leave(2)
    queue.listen()
    queue.add(Span.samples(2))
    #expect(rings.value == 2 && queue.close() == 5 && queue.count == 0 && queue.waitingCount == 0)
    queue.add(Span.samples(1))
    #expect(late.value == 1 && queue.count == 0)
  }

  @Test func aBatchHasWholeListsUnlessOneIsLonger() throws {
    let spare = try Registry().counter("spare_total", help: "")
    let queue = SpanQueue(limit: 100, batch: 3, dropped: spare, late: spare) {}
    for count in [1, 2, 2, 2, 7, 1] { queue.add(Span.samples(count)) }
    var batches: [[Int]] = []
    while queue.waitingCount > 0 { batches.append(queue.next().map(\.count)) }
    #expect(batches == [[1, 2], [2], [2], [3], [3], [1, 1]] && queue.next().isEmpty)
  }
}
