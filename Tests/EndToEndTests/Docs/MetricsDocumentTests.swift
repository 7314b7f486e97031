import Testing
import WeirExporter
import WeirGateway
import WeirMetrics
import WeirTestSupport

/// The registry against docs/metrics.md, in both directions.
@Suite struct MetricsDocumentTests {
  /// The metrics of each part, by what is new in the registry when that part has registered.
  private static func parts() throws -> [(part: String, metrics: [MetricDescriptor])] {
    var parts: [(part: String, metrics: [MetricDescriptor])] = []
    var known: Set<String> = []
    let registry = Registry()
    func note(_ part: String) {
      let new = registry.metrics.filter { known.insert($0.name).inserted }
      let process = new.filter { $0.name.hasPrefix("process_") }
      parts.append((part, new.filter { !$0.name.hasPrefix("process_") }))
      if !process.isEmpty { parts.append(("Process", process)) }
    }
    note("Registry")
    _ = try MetricsMonitor(registry: registry)
    note("Client")
    _ = try Exporter(registry: registry, listenAddress: "127.0.0.1:0")
    note("Exporter")
    _ = try GatewayMetrics(registry)
    note("Gateway")
    _ = try TelemetryMetrics(registry)
    note("Telemetry")
    return parts
  }

  @Test func everyMetricIsDocumentedAsItIs() throws {
    let document = try MetricsDocument()
    for (part, metrics) in try Self.parts() {
      #expect(!metrics.isEmpty)
      for metric in metrics {
        let entry = try #require(document.entries[metric.name], "\(metric.name) is not in docs/metrics.md")
        #expect(entry.part == part, "\(metric.name)")
        #expect(entry.kind == metric.kind.rawValue, "\(metric.name)")
        #expect(entry.labels == metric.labels, "\(metric.name)")
        #expect(!entry.unit.isEmpty, "\(metric.name)")
        #expect(document.buckets[metric.name] ?? [] == metric.bounds, "\(metric.name)")
      }
    }
  }

  @Test func everyLineIsAMetric() throws {
    let document = try MetricsDocument()
    let names = Set(try Self.parts().flatMap(\.metrics).map(\.name))
    #expect(document.entries.count == names.count)
    #expect(Set(document.entries.keys).subtracting(names).isEmpty)
    #expect(Set(document.buckets.keys).subtracting(names).isEmpty)
    #expect(document.repeated.isEmpty)
  }

  /// Units are in names, and names say what the documentation says.
  @Test func unitsAgreeWithNames() throws {
    for (name, entry) in try MetricsDocument().entries {
      let stem = name.hasSuffix("_total") ? String(name.dropLast("_total".count)) : name
      #expect((entry.unit == "seconds") == stem.hasSuffix("_seconds"), "\(name)")
      #expect((entry.unit == "bytes") == stem.hasSuffix("_bytes"), "\(name)")
      #expect((entry.kind == "counter") == name.hasSuffix("_total"), "\(name)")
    }
  }

  /// What the program shows, as it runs.
  @Test(.needs(.weir, .curl)) func theProgramShowsNothingElse() async throws {
    let weir = try await WeirProgram()
    #expect(try await CurlAnswer.get(weir.url("/flaky")).status == 200)
    let page = try await CurlAnswer.get(weir.metricsURL("/metrics")).body
    let document = try MetricsDocument()
    let types = page.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ") }
    #expect(types.count > 20)
    for type in types {
      let kind = document.entries[String(type[2])]?.kind
      // The text format has no type for an info.
      #expect(kind.map { $0 == "info" ? "gauge" : $0 } == String(type[3]), "\(type[2])")
    }
  }
}
