import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// weir_cache_requests_total, by requests on the wire.
@Suite("Metrics of the cache", .timeLimit(.minutes(5)))
struct CacheMetricsTests {
  @Test("Hits and misses by destination; a hit is a request without an attempt")
  func onTheWire() async throws {
    let server = try ScriptedServer(.answering(okResponse("x", "Cache-Control: max-age=60\r\n")))
    let registry = Registry()
    var configuration = SessionConfiguration.default
    configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
    let session = Session(configuration: configuration, eventMonitors: [try MetricsMonitor(registry: registry)])
    for _ in 0..<3 { #expect(await session.request(server.url).serializingString().response.value == "x") }
    let text = registry.text()
    let place = "server_address=\"127.0.0.1\",server_port=\"\(server.port)\""
    #expect(text.contains("weir_cache_requests_total{\(place),result=\"hit\"} 2\n"), "\(text)")
    #expect(text.contains("weir_cache_requests_total{\(place),result=\"miss\"} 1\n"))
    #expect(text.contains("weir_attempts_started_total{\(place)} 1\n"))
    #expect(text.contains("weir_request_attempts_bucket{\(place),le=\"0.0\"} 2\n"))
    #expect(text.contains("http_client_active_requests{\(place)} 0\n"))
    #expect(text.contains("weir_requests_in_flight{\(place)} 0\n"))
  }
}
