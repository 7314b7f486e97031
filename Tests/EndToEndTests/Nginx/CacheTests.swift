import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// The cache before a server that many use.
@Suite(.needs(.nginx), .timeLimit(.minutes(5))) struct CacheTests {
  private func client(_ configure: (inout SessionConfiguration) -> Void = { _ in }) throws -> MeasuredSession {
    try MeasuredSession {
      $0.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: nil)
      configure(&$0)
    }
  }

  private func results(_ client: MeasuredSession) -> [Double] {
    ["hit", "miss", "revalidated", "refreshed"].map { client.sum("weir_cache_requests_total", ["result": $0]) }
  }

  @Test("A file is asked about by tag and date; 304 brings no body, and a changed file the new one")
  func files() async throws {
    let nginx = try await NginxServer(config: "location / { add_header Cache-Control no-cache; }")
    try nginx.write("first", toFile: "page")
    let client = try client()
    #expect(try await client.text(nginx.url("/page")) == "first")
    let second = await client.get(nginx.url("/page"))
    #expect(second.value == Data("first".utf8) && second.response?.statusCode == 200)
    #expect(results(client) == [0, 1, 1, 0])
    try nginx.write("the second", toFile: "page")
    #expect(try await client.text(nginx.url("/page")) == "the second")
    #expect(try await client.text(nginx.url("/page")) == "the second")
    #expect(results(client) == [0, 1, 2, 1])
    #expect(client.sum("weir_attempts_total") == 4)
  }

  @Test("A fresh response needs no server; a stale one does")
  func fresh() async throws {
    let nginx = try await NginxServer(
      config: """
        location = /fresh { expires 1h; return 200 "$request_id"; }
        location = /stale { expires -1; return 200 "$request_id"; }
        """)
    let client = try client()
    for (path, isSame) in [("/fresh", true), ("/stale", false)] {
      let first = try await client.text(nginx.url(path))
      #expect((try await client.text(nginx.url(path)) == first) == isSame, "\(path)")
    }
    #expect(results(client) == [1, 3, 0, 0])
    #expect(client.sum("weir_attempts_total") == 3)
    #expect(client.sum("weir_requests_total") == 4)
  }

  @Test("Vary, compressed and not")
  func vary() async throws {
    let nginx = try await NginxServer(
      config: """
        gzip on; gzip_min_length 1; gzip_types text/plain; gzip_vary on;
        location / { default_type text/plain; expires 1h; }
        """)
    let text = String(repeating: "compressible ", count: 500)
    try nginx.write(text, toFile: "page")
    let client = try client()
    for (coding, count) in [("gzip", 1), ("gzip", 1), ("identity", 2), ("identity", 2)] {
      let request = client.session.request(nginx.url("/page"), headers: ["Accept-Encoding": coding])
      let response = await request.validate().serializingString().response
      #expect(response.value == text)
      #expect(response.response?.value(forHTTPHeaderField: "Content-Encoding") == (coding == "gzip" ? "gzip" : nil))
      #expect(client.sum("weir_attempts_total") == Double(count))
    }
  }
}
