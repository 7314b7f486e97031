import Testing
import WeirExporter
import WeirTestSupport

/// The example of docs/embedding.md, run.
@Suite struct PriceServiceTests {
  @Test(.needs(.nginx, .curl)) func itsMetricsAreBesideTheClients() async throws {
    let nginx = try await NginxServer(
      config: """
        location /price {
          if ($arg_item = tea) { return 200 "{\\"amount\\": 2.5}"; }
          return 404;
        }
        """)
    let service = try PriceService(upstream: "http://127.0.0.1:\(nginx.port())", metrics: "127.0.0.1:0")
    defer { service.exporter.stop(grace: 0) }
    for _ in 0..<3 { #expect(try await service.price(of: "tea").amount == 2.5) }
    await #expect(throws: (any Error).self) { try await service.price(of: "gold") }

    let address = try #require(service.exporter.address)
    let page = ExpositionText(try await CurlAnswer.get("http://\(address)/metrics").body)
    #expect(page.sum("prices_served_total", ["source": "memory"]) == 2)
    #expect(page.sum("prices_served_total", ["source": "upstream"]) == 1)
    #expect(page.sum("prices_served_total", ["source": "nowhere"]) == 1)
    #expect(page.sum("prices_known") == 1)
    #expect(page.sum("weir_requests_total", ["outcome": "success"]) == 1)
    #expect(page.sum("weir_requests_total", ["outcome": "http_error"]) == 1)
    #expect(page.sum("process_threads") > 0)
  }

  @Test func theDocumentShowsIt() throws {
    let example = try PackageRoot.example("docs/embedding.md", of: "Tests/EndToEndTests/Readme/PriceService.swift")
    #expect(try PackageRoot.text(of: "docs/embedding.md").contains("```swift\n\(example)```\n"))
  }
}
