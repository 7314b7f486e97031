import Foundation
import Testing
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// Other people's readers see, of a page full of traps, the samples that the registry holds: no more, no fewer, no other.
@Suite struct HostilePageTests {
  typealias Sample = HostilePage.Sample

  /// The readers' Python, with prometheus_client.
  private static let python = Tool("prometheus_client", at: ["\(PackageRoot.path)/.build/test-venv/bin/python"])

  /// Prints each sample as a line of JSON.
  private static let reader = """
    import json, sys
    if sys.argv[1] == "openmetrics":
      from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
    else:
      from prometheus_client.parser import text_string_to_metric_families as parse
    page = open(sys.argv[2], "rb").read().decode("utf-8")
    for family in parse(page):
      for sample in family.samples:
        print(json.dumps([sample.name, sample.labels, repr(float(sample.value))]))
    """

  private struct Line: Decodable {
    let sample: Sample

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      let (name, labels) = (try container.decode(String.self), try container.decode([String: String].self))
      let text = try container.decode(String.self)
      sample = Sample(name, labels, try #require(Double(text), "\(text)"))
    }
  }

  @Test(.needs(python), arguments: [("text", Exposition.Format.text), ("openmetrics", .openMetrics)])
  func pythonsClientReadsThem(name: String, format: Exposition.Format) async throws {
    let page = try HostilePage()
    let directory = try TemporaryDirectory()
    let file = try directory.file("page", page.registry.text(Exposition(format)))
    let output = try await Self.python.run(["-c", Self.reader, name, file])
    let read = try output.split(separator: "\n").map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8)).sample
    }
    expect(read, toBe: page.samples)
  }

  @Test(.needs(.promtool)) func promtoolFindsNothingWrong() async throws {
    let page = try HostilePage()
    let directory = try TemporaryDirectory()
    let file = try directory.file("page", page.registry.text())
    let check = "\(try Tool.promtool.path) check metrics < \(file)"
    let result = try await Tool.shell.runToEnd(["-c", check])
    // Its linter wants help for every metric, and a unit in a name; what it can't read it calls an error.
    #expect(!result.output.contains("error"), "\(result.output)")
  }

  /// Prometheus prefers OpenMetrics; nginx in between asks for text instead.
  @Test(.needs(.prometheus, .nginx, .curl)) func prometheusReadsThem() async throws {
    let page = try HostilePage()
    var options = Exporter.Options()
    options.registersProcessMetrics = false
    let exporter = try Exporter(registry: page.registry, listenAddress: "127.0.0.1:0", options: options).start()
    defer { exporter.stop(grace: 0) }
    let address = try #require(exporter.address)
    let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
    let nginx = try await NginxServer(
      config: "location / { proxy_set_header Accept text/plain; proxy_pass http://\(address); }")
    let prometheus = try await PrometheusServer(scraping: [port, nginx.port()])
    for port in [port, nginx.port()] {
      let query = "{__name__=~\"hostile.*\", instance=\"127.0.0.1:\(port)\"}"
      let values = try await eventually("Prometheus has scraped \(port)") {
        let values = try await prometheus.query(query)
        return values.isEmpty ? nil : values
      }
      let read = values.map { labels, value in
        let own = labels.filter { !["__name__", "instance", "job"].contains($0.key) }
        return Sample(labels["__name__"] ?? "", own, value)
      }
      // To Prometheus an empty label is none.
      let expected = page.samples.map { sample in
        Sample(sample.name, sample.labels.filter { !$0.value.isEmpty }, Double(sample.value) ?? .nan)
      }
      expect(read, toBe: Set(expected))
    }
  }

  private func expect(_ read: [Sample], toBe expected: Set<Sample>) {
    #expect(read.count == expected.count)
    let (missing, surplus) = (expected.subtracting(read), Set(read).subtracting(expected))
    #expect(missing.isEmpty && surplus.isEmpty, "missing: \(missing)\nsurplus: \(surplus)")
  }
}
