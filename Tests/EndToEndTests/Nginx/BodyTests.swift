import Testing
import Weir
import WeirTestSupport

/// Compressed and large bodies.
@Suite(.needs(.nginx)) struct BodyTests {
  // MARK: gzip

  private static let compressing = """
    gzip on; gzip_types *; gzip_min_length 1; gzip_comp_level 1;
    location / { default_type text/plain; }
    """

  @Test func gzipIsDecoded() async throws {
    let nginx = try await NginxServer(config: Self.compressing)
    let text = String(repeating: "A weir steers a stream and measures it.\n", count: 5000)
    try nginx.write(text, toFile: "text")
    let client = try MeasuredSession()
    let response = await client.get(nginx.url("/text"))
    #expect(response.value == Data(text.utf8))
    #expect(response.response?.headers["Content-Encoding"] == "gzip")
    let metrics = try #require(response.metrics)
    #expect(metrics.bytesDecoded == 200_000)
    #expect((1..<20_000).contains(metrics.bytesReceivedOnWire))
    let labels = ["content_encoding": "gzip"]
    #expect(client.sum("weir_response_decoded_bytes_total", labels) == 200_000)
    #expect(client.sum("weir_response_wire_bytes_total", labels) == Double(metrics.bytesReceivedOnWire))

    let plain = try MeasuredSession { $0.automaticallyDecompresses = false }
    let bytes = try #require(await plain.get(nginx.url("/text")).value)
    #expect(Array(bytes.prefix(2)) == [0x1F, 0x8B])
    #expect(Int64(bytes.count) == metrics.bytesReceivedOnWire)
  }

  @Test func aBodyThatExpandsTooMuchIsRefused() async throws {
    let nginx = try await NginxServer(config: Self.compressing)
    try nginx.makeFile("zeros", size: 100 << 20)
    let byRatio = try MeasuredSession()
    let response = await byRatio.get(nginx.url("/zeros"))
    #expect(response.urlErrorCode == .dataLengthExceedsMaximum, "\(response)")
    #expect(byRatio.sum("weir_requests_total", ["outcome": "limit_exceeded"]) == 1)
    // The ratio counts from 10 MiB on, and was far exceeded by then.
    #expect(byRatio.sum("weir_response_decoded_bytes_total") < Double(12 << 20))

    let bySize = try MeasuredSession { $0.maximumDecompressedSize = 1 << 20 }
    #expect(await bySize.get(nginx.url("/zeros")).urlErrorCode == .dataLengthExceedsMaximum)
    #expect(bySize.sum("weir_response_decoded_bytes_total") <= Double(1 << 20))
  }

  // MARK: Large bodies

  @Test func twoHundredMegabytesArriveWhole() async throws {
    let nginx = try await NginxServer(config: "")
    try nginx.makeFile("large", size: 200_000_000)
    let client = try MeasuredSession()
    let response = await client.get(nginx.url("/large"))
    #expect(response.value?.count == 200_000_000)
    #expect(response.metrics?.bytesReceivedOnWire == 200_000_000)
    #expect(client.sum("http_client_response_body_size_bytes_sum") == 200_000_000)
    #expect(client.sum("weir_response_wire_bytes_total", ["content_encoding": "identity"]) == 200_000_000)
  }

  @Test func aBodyOverTheLimitIsRefused() async throws {
    let nginx = try await NginxServer(config: "")
    try nginx.makeFile("large", size: 200_000_000)
    let client = try MeasuredSession { $0.maximumResponseSize = 1_000_000 }
    let response = await client.get(nginx.url("/large"))
    #expect(response.urlErrorCode == .dataLengthExceedsMaximum, "\(response)")
    #expect(response.data == nil || (response.data?.count ?? 0) <= 1_000_000)
    #expect(client.sum("weir_requests_total", ["outcome": "limit_exceeded"]) == 1)
    #expect(client.sum("weir_response_wire_bytes_total") < 2_000_000)
    try nginx.makeFile("small", size: 1_000_000)
    #expect(await client.get(nginx.url("/small")).value?.count == 1_000_000)
  }

  @Test func fiftyMegabytesGoUpAndComeBack() async throws {
    let nginx = try await NginxServer(
      config: "client_max_body_size 60m; location / { dav_methods PUT; create_full_put_path on; }")
    var random = SeededRandom(seed: 1)
    var body = Data(capacity: 50_000_000)
    while body.count < 50_000_000 { withUnsafeBytes(of: random.next()) { body.append(contentsOf: $0) } }
    let client = try MeasuredSession()
    var request = try URLRequest(url: nginx.url("/upload"), method: .put)
    request.httpBody = body
    let stored = await client.session.request(request).serializingData().response
    #expect(stored.statusCode == 201, "\(stored)")
    #expect(stored.metrics?.bytesSent == 50_000_000)
    #expect(client.sum("http_client_request_body_size_bytes_sum") == 50_000_000)
    let back = await client.get(nginx.url("/upload"))
    #expect(back.value == body)
    #expect(client.sum("weir_connections_opened_total") == 1)
  }

  @Test func aBodyThatTheServerRefusesEndsWithItsAnswer() async throws {
    let nginx = try await NginxServer(config: "client_max_body_size 1m; location / { dav_methods PUT; }")
    let client = try MeasuredSession()
    var request = try URLRequest(url: nginx.url("/upload"), method: .put)
    request.httpBody = Data(count: 20_000_000)
    let response = await client.session.request(request).serializingData().response
    #expect(response.statusCode == 413, "\(response)")
    #expect(try #require(response.metrics).bytesSent < 20_000_000)
  }
}
