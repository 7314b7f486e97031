import Testing
import Weir
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// Pushes to a real Pushgateway.
@Suite(.needs(.pushgateway, .curl)) struct PushTests {
  private let exporter: Exporter
  private let rows: Counter

  init() throws {
    exporter = try Exporter(listenAddress: "127.0.0.1:0")
    rows = try exporter.registry.counter("rows_copied_total", help: "Rows copied.")
    try exporter.registry.gauge("copy_seconds", help: "How long it took.").set(12.5)
    try exporter.registry.histogram("row_bytes", help: "Sizes.", buckets: [10, 100]).observe(50)
  }

  @Test func aGroupIsReplacedAddedToAndDeleted() async throws {
    let server = try await PushgatewayServer()
    let gateway = Pushgateway(server.url, job: "copy", grouping: ["instance": "db-1"])
    rows.increment(by: 3)
    try await exporter.push(to: gateway)
    #expect(try await server.groups() == [["job": "copy", "instance": "db-1"]])
    var page = ExpositionText(try await server.page())
    let labels = ["job": "copy", "instance": "db-1"]
    #expect(page.sum("rows_copied_total", labels) == 3)
    #expect(page.sum("copy_seconds", labels) == 12.5)
    #expect(page.sum("row_bytes_count", labels) == 1)
    #expect(page.sum("weir_build_info", labels) == 1)
    #expect(page.sum("push_failure_time_seconds", labels) == 0)

    // What is not in the second push stays after POST, and goes with PUT.
    rows.increment(by: 4)
    exporter.registry.unregister("copy_seconds")
    try await exporter.push(to: gateway, .replacingMetrics)
    page = ExpositionText(try await server.page())
    #expect(page.sum("rows_copied_total", labels) == 7)
    #expect(page.sum("copy_seconds", labels) == 12.5)
    try await exporter.push(to: gateway)
    page = ExpositionText(try await server.page())
    #expect(page.sum("rows_copied_total", labels) == 7)
    #expect(page.sum("copy_seconds", labels) == 0)

    try await exporter.deletePushed(from: gateway)
    #expect(try await server.groups() == [])
  }

  @Test(arguments: [
    ("a/b", ["instance": ""]), ("copy", ["path": "/var/lib/x", "instance": "a b"]),
    ("täglich ☕", ["kind": "..", "other": "100%"]), ("j", ["v": "?#&=+~"]), ("\n", ["v": "\"\\\n\t"]),
  ])
  func anyTextCanBeALabel(job: String, grouping: [String: String]) async throws {
    let server = try await PushgatewayServer()
    try await exporter.push(to: Pushgateway(server.url + "/", job: job, grouping: grouping))
    #expect(try await server.groups() == [grouping.merging(["job": job]) { $1 }])
  }

  @Test func whatTheGatewayRefusesIsTold() async throws {
    let server = try await PushgatewayServer()
    try await exporter.push(to: Pushgateway(server.url, job: "first"))
    // The same name with another type, in another group.
    let other = try Exporter(listenAddress: "127.0.0.1:0")
    try other.registry.gauge("rows_copied_total", help: "Rows copied.").set(1)
    let refused = await #expect(throws: PushError.self) {
      try await other.push(to: Pushgateway(server.url, job: "second"))
    }
    #expect(refused?.code == .refused)
    #expect(refused?.statusCode == 400)
    #expect(refused?.description.contains("inconsistent") == true, "\(refused?.description ?? "")")
    let lost = await #expect(throws: PushError.self) {
      try await other.push(to: Pushgateway("\(server.url)/nowhere", job: "second"))
    }
    #expect(lost?.statusCode == 404)
  }

  @Test func theSessionIsTheCallersToChoose() async throws {
    let server = try await PushgatewayServer()
    let session = Session(eventMonitors: [try MetricsMonitor(registry: exporter.registry)])
    let gateway = Pushgateway(server.url, job: "copy", headers: [.userAgent("copy/1")])
    for _ in 0..<2 { try await exporter.push(to: gateway, using: session) }
    // The second push tells of the first.
    let page = ExpositionText(try await server.page())
    #expect(page.sum("weir_requests_total", ["http_request_method": "PUT", "outcome": "success"]) == 1)
  }
}
