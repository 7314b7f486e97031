import Testing
import Weir
import WeirCurl
import WeirTestSupport

/// Which version a session and nginx agree on.
@Suite(.needs(.nginx, .openssl)) struct HTTPVersionTests {
  @Test(arguments: [
    (SessionConfiguration.HTTPVersion.automatic, CurlLibrary.hasReliableHTTP2 ? "h2" : "http/1.1"),
    (.http1_1, "http/1.1"),
    (.http2, "h2"),
  ])
  func overTLSItIsNegotiated(version: SessionConfiguration.HTTPVersion, expected: String) async throws {
    let fixture = try await TLSFixture.shared.value
    let client = try fixture.session { $0.httpVersion = version }
    for _ in 0..<2 {
      let response = await client.get(fixture.nginx.url(https: "h2"))
      #expect(response.metrics?.networkProtocolName == expected)
      #expect(response.value == Data((expected == "h2" ? "HTTP/2.0" : "HTTP/1.1").utf8), "\(response)")
    }
    #expect(client.sum("weir_connections_opened_total") == 1)
    let label = expected == "h2" ? "2" : "1.1"
    #expect(client.sum("weir_attempts_total", ["network_protocol_version": label]) == 2)
  }

  @Test func withPriorKnowledgeItNeedsNoTLS() async throws {
    let nginx = try await NginxServer(.init("h2c", listen: "http2", "location / { return 200 $server_protocol; }"))
    let client = try MeasuredSession { $0.httpVersion = .http2PriorKnowledge }
    #expect(try await client.text(nginx.url("/", on: "h2c")) == "HTTP/2.0")
  }

  /// Whether the connection stays depends on libcurl: 7.88.1 opens one for each request with prior knowledge.
  @Test("An attempt that has reached its limit ends its stream, and others follow")
  func attemptTimeout() async throws {
    let hole = try BlackHole()
    let nginx = try await NginxServer(
      .init(
        "h2c", listen: "http2",
        "location / { return 200 $server_protocol; } location /slow { proxy_pass \(hole.url); }"))
    let client = try MeasuredSession {
      $0.httpVersion = .http2PriorKnowledge
      $0.attemptTimeout = 1
    }
    #expect(try await client.text(nginx.url("/", on: "h2c")) == "HTTP/2.0")
    let response = await client.get(nginx.url("/slow", on: "h2c"))
    #expect(response.urlErrorCode == .timedOut)
    #expect("\(response)".contains("within 1.0 s (attemptTimeout)"), "\(response)")
    #expect(try await client.text(nginx.url("/", on: "h2c")) == "HTTP/2.0")
  }

  @Test func aServerWithoutHTTP2IsSpokenToInHTTP1() async throws {
    let fixture = try await TLSFixture.shared.value
    let client = try fixture.session { $0.httpVersion = .http2 }
    #expect(await client.get(fixture.nginx.url(https: "valid")).metrics?.networkProtocolName == "http/1.1")
  }

  @Test func manyStreamsShareAConnection() async throws {
    let fixture = try await TLSFixture.shared.value
    let client = try fixture.session { $0.httpVersion = .http2 }
    let url = fixture.nginx.url(https: "h2")
    #expect(await client.get(url).statusCode == 200)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 { group.addTask { #expect(await client.get(url).value?.count == 8) } }
    }
    #expect(client.sum("weir_connections_opened_total") == 1)
    #expect(client.sum("weir_requests_total", ["outcome": "success"]) == 101)
  }
}
