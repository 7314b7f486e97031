import Foundation
import Testing
import Weir
import WeirMetrics
import WeirTestSupport
import WeirTransport

@testable import WeirExporter

/// Requests with the name of an operation, and those without.
@Suite(.timeLimit(.minutes(5))) struct OperationMetricsTests {
  private let registry = Registry()

  /// The values of all series of a metric that have the label, by the rest of what is wanted to know: the operation.
  private func counts(_ name: String, _ label: String = "") -> [String: Int] {
    var counts: [String: Int] = [:]
    for line in registry.text().split(separator: "\n") where line.hasPrefix(name + "{") {
      guard label.isEmpty || line.contains(label), let value = line.split(separator: " ").last.flatMap({ Double($0) })
      else {
        continue
      }
      let parts = line.components(separatedBy: "operation=\"")
      counts[parts.count == 1 ? "" : String(parts[1].prefix { $0 != "\"" }), default: 0] += Int(value)
    }
    return counts.filter { $0.value > 0 }
  }

  private func sum(_ name: String) -> Int { counts(name).values.reduce(0, +) }

  @Test func threeFamiliesTellOfOperations() async throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let session = Session(eventMonitors: [try MetricsMonitor(registry: registry)])
    for (method, operation) in [(HTTPMethod.get, "listUsers"), (.post, "createUser"), (.get, "listUsers"), (.get, "")] {
      let request = session.request(server.url, method: method).operation(operation)
      #expect(request.operation == (operation.isEmpty ? nil : operation))
      #expect(await request.serializingData(emptyResponseCodes: [200]).response.response?.statusCode == 200)
    }
    let expected = ["listUsers": 2, "createUser": 1, "": 1]
    #expect(counts("weir_requests_total", "success") == expected)
    #expect(counts("http_client_request_duration_seconds_count", "\"200\"") == expected)
    #expect(registry.text().contains("http_request_method=\"POST\",outcome=\"success\",operation=\"createUser\"} 1"))
    // The others count for all.
    #expect(
      registry.text().contains("weir_requests_in_flight{server_address=\"127.0.0.1\",server_port=\"\(server.port)\"} 0")
    )
    #expect(
      registry.text().split(separator: "\n").contains {
        $0.hasPrefix("weir_requests_started_total") && $0.hasSuffix(" 3")
      })
  }

  @Test func retriesTellOfTheirOperation() async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"))
    let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0.001)
    let session = Session(interceptor: policy, eventMonitors: [try MetricsMonitor(registry: registry)])
    for operation in ["a", ""] {
      _ = await session.request(server.url).operation(operation).validate().serializingData().response
    }
    #expect(counts("weir_retries_total", "\"503\"") == ["a": 1, "": 1])
  }

  @Test func thoseBeyondTheLimitAreCountedTogether() throws {
    let families = try ClientMetrics(registry, SeriesLimits(destinations: 2, operations: 2))
    let index = DestinationIndex(families, limit: 2)
    let destination = Destination(scheme: "http", host: "a.test", port: 80)
    for name in ["a", "b", "c", "d", "c", "a"] {
      let metrics = index.operations(of: destination).metrics(of: NamedOperation(name), method: "GET")
      metrics.started(method: "GET")
      metrics.settled(method: "GET", outcome: .success, seconds: 1)
    }
    index.operations(of: destination).show()
    #expect(counts("weir_requests_total") == ["a": 2, "b": 1, "_other": 3])
    // The requests count, and not what else they show.
    let folded = registry.text().split(separator: "\n").filter { $0.hasPrefix("weir_metrics_series_folded_total{") }
    #expect(
      folded.filter { !$0.hasSuffix(" 0") } == ["weir_metrics_series_folded_total{metric=\"weir_requests_total\"} 3"])
  }

  @Test func eachDestinationHasItsOwn() throws {
    let families = try ClientMetrics(registry, SeriesLimits(destinations: 4, operations: 20))
    let index = DestinationIndex(families, limit: 4)
    let operation = NamedOperation("a")
    let destinations = [1, 2, 1, 2].map { Destination(scheme: "http", host: "h\($0).test", port: 80) }
    func request(to destination: Destination) {
      let metrics = index.operations(of: destination).metrics(of: operation, method: "GET")
      #expect(metrics.destination.address == destination.host)
      metrics.started(method: "GET")
      metrics.settled(method: "GET", outcome: .success, seconds: 1)
      for operations in index.all { operations.show() }
    }
    for destination in destinations { request(to: destination) }
    #expect(sum("weir_requests_total") == 4)
    // A destination that is forgotten and comes back has new series.
    #expect(index.forget([destinations[0].server]).isEmpty)
    #expect(sum("weir_requests_total") == 2)
    request(to: destinations[0])
    #expect(sum("weir_requests_total") == 3)
  }

  @Test func oneThatIsForgottenMakesRoom() throws {
    let index = DestinationIndex(
      try ClientMetrics(registry, SeriesLimits(destinations: 2, operations: 1)), limit: 2)
    let operations = index.operations(of: Destination(scheme: "http", host: "a.test", port: 80))
    func inFlight() -> String? {
      operations.show()
      return registry.text().split(separator: "\n").first { $0.hasPrefix("weir_requests_in_flight{") }.map(String.init)
    }
    let old = operations.metrics(of: NamedOperation("old"), method: "GET")
    old.started(method: "GET")
    // It is not forgotten while a request is under way.
    #expect(index.forget(operations: ["old", "none"]) == ["old"])
    old.settled(method: "GET", outcome: .success, seconds: 1)
    #expect(counts("weir_requests_total").isEmpty && index.forget(operations: ["old"]).isEmpty)
    #expect(!registry.text().contains("operation=\"old\""))
    let new = operations.metrics(of: NamedOperation("new"), method: "GET")
    new.started(method: "GET")
    #expect(inFlight()?.hasSuffix(" 1") == true)
    new.settled(method: "GET", outcome: .success, seconds: 1)
    #expect(inFlight()?.hasSuffix(" 0") == true)
    #expect(counts("weir_requests_total") == ["new": 1])
  }

  @Test func aServerThatMakesUpStatusesGetsCoarseLabels() throws {
    let families = try ClientMetrics(registry, SeriesLimits(destinations: 2, operations: 20))
    let metrics = OperationMetrics(
      DestinationMetrics(families, address: "a.test", port: "80"), "a", method: "GET")
    for status in 200..<600 {
      var report = AttemptReport()
      report.statusCode = status
      metrics.attemptEnded(method: "GET", report, errorType: "")
      metrics.retried(because: RetryReason(rawValue: String(status)))
    }
    let lines = registry.text().split(separator: "\n").filter { $0.contains("operation=\"a\"") }
    #expect(lines.count { $0.hasPrefix("http_client_request_duration_seconds_count") } == 20 + 4)
    #expect(lines.count { $0.hasPrefix("weir_retries_total") } == 20 + 4)
    #expect(sum("http_client_request_duration_seconds_count") == 400)
  }

  @Test(arguments: [
    ("GET /users/{id}", "GET", "GET /users/{id}", "/users/{id}"), ("/users", "GET", "GET /users", "/users"),
    ("listUsers", "POST", "POST listUsers", nil), ("POST /a b", "POST", "POST /a b", "/a b"),
    ("a b /c", "GET", "GET a b /c", nil), ("GETTER", "GET", "GET GETTER", nil),
  ])
  func namesOfSpans(name: String, method: String, span: String, template: String?) {
    let operation = NamedOperation(name)
    #expect(operation.spanName(of: method) == span && operation.pathTemplate == template)
  }

  @Test func longNamesAreCutOff() {
    #expect(NamedOperation(String(repeating: "a", count: 300)).name.count == 200)
  }
}
