import Foundation
import Testing
import WeirCompression
import WeirExporter
import WeirMetrics
import WeirServer
import WeirTestSupport

/// What a client sees of a running exporter.
@Suite final class ExporterTests {
  let registry = Registry(ownMetrics: false)
  let exporter: Exporter

  init() throws {
    try registry.counter("a_total", help: "A.").increment()
    try registry.gauge("b", help: "B.").set(2)
    var options = Exporter.Options()
    options.registersProcessMetrics = false
    options.headers = ["X-Frame-Options": "DENY", "cache-control": "private"]
    exporter = try Exporter(registry: registry, listenAddress: "127.0.0.1:0", options: options).start()
  }

  deinit {
    exporter.stop(grace: 0)
  }

  @Test func theMetricsPage() throws {
    let response = try #require(try PageClient.get(exporter.address, "/metrics?name[]=a_total&name%5B%5D=b"))
    #expect(response.status == 200)
    #expect(response.text == "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n# HELP b B.\n# TYPE b gauge\nb 2\n")
    var fields = response.fields
    #expect(fields.removeValue(forKey: "date") != nil)
    #expect(
      fields == [
        "content-type": "text/plain; version=0.0.4; charset=utf-8", "vary": "Accept, Accept-Encoding",
        "cache-control": "private", "x-content-type-options": "nosniff", "x-frame-options": "DENY",
        "content-length": "\(response.body.count)",
      ])
  }

  /// A page of the program gets the request and may answer from another thread; its fields join the common ones.
  @Test func aPageOfTheProgram() throws {
    var options = Exporter.Options()
    options.registersProcessMetrics = false
    options.pages = [
      "/page": ExporterPage { request, done in
        let text = "\(request.path) \(request.query ?? "") \(request.fields.combined("X-Asked") ?? "")\n"
        Thread.detachNewThread { done(ExporterPage.Response(status: 203, fields: [("X-More", "yes")], text: text)) }
      }
    ]
    let exporter = try Exporter(registry: Registry(), listenAddress: "127.0.0.1:0", options: options).start()
    defer { exporter.stop(grace: 0) }
    let response = try #require(try PageClient.get(exporter.address, "/page?a=b", [("X-Asked", "now")]))
    #expect(response.status == 203)
    #expect(response.text == "/page a=b now\n")
    #expect(response.fields["x-more"] == "yes")
    #expect(response.fields["cache-control"] == "no-store")
    #expect(response.fields["content-type"] == "text/plain; charset=utf-8")
  }

  @Test func openMetricsAndGzip() throws {
    let response = try #require(
      try PageClient.get(
        exporter.address, "/metrics?name[]=b",
        [("Accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"), ("Accept-Encoding", "gzip")]))
    #expect(response.status == 200)
    #expect(response.fields["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
    #expect(response.fields["content-encoding"] == "gzip")
    let plain = try Compression.inflate(response.body, .gzip, limits: DecodeLimits(size: nil, ratio: nil))
    #expect(String(decoding: plain, as: UTF8.self) == "# TYPE b gauge\n# HELP b B.\nb 2\n# EOF\n")
  }

  @Test func protobufAndGzip() throws {
    let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
    let client = try PageClient(exporter.address)
    client.request("GET", "/metrics?name[]=b", [("Accept", protobuf), ("Accept-Encoding", "gzip")])
    let response = try #require(client.response())
    #expect(response.status == 200)
    #expect(
      response.fields["content-type"]
        == "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited")
    #expect(response.fields["content-encoding"] == "gzip")
    let plain = try Compression.inflate(response.body, .gzip, limits: DecodeLimits(size: nil, ratio: nil))
    // The name `b`, the help `B.`, a gauge, and a metric with the gauge 2.
    let family: [UInt8] = [0x0a, 1, 0x62, 0x12, 2, 0x42, 0x2e, 0x18, 1, 0x22, 11, 0x12, 9, 9]
    #expect(plain == [22] + family + [0, 0, 0, 0, 0, 0, 0, 0x40])
    client.request("HEAD", "/metrics?name[]=b", [("Accept", protobuf)])
    let head = try #require(client.response(toHead: true))
    #expect(head.fields["content-length"] == "23" && head.body.isEmpty)
  }

  /// Prometheus 3 also knows version 1.0.0 of text, and names that need escaping. The answer is what is sent: version
  /// 0.0.4, whose names need none.
  @Test(arguments: [
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,*/*;q=0.5",
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.4",
  ])
  func textOfPrometheus3(accept: String) throws {
    let response = try #require(try PageClient.get(exporter.address, "/metrics?name[]=b", [("Accept", accept)]))
    #expect(response.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
    #expect(response.text == "# HELP b B.\n# TYPE b gauge\nb 2\n")
  }

  /// Several fields of a name are one list (RFC 9110 §5.3).
  @Test func fieldsInPieces() throws {
    let response = try #require(
      try PageClient.get(
        exporter.address, "/metrics", [("Accept", "text/plain;q=0.1"), ("Accept", "application/openmetrics-text")]))
    #expect(response.text.hasSuffix("# EOF\n"))
  }

  @Test(
    arguments: [
      ("GET", "/metrics", 200, nil), ("HEAD", "/metrics", 200, nil), ("POST", "/metrics", 405, "GET, HEAD"),
      ("GET", "/", 200, nil), ("HEAD", "/", 200, nil), ("PUT", "/", 405, "GET, HEAD"),
      ("GET", "/-/healthy", 200, nil), ("HEAD", "/-/healthy", 200, nil), ("GET", "/-/ready", 200, nil),
      ("GET", "/x", 404, nil), ("HEAD", "/x", 404, nil), ("BREW", "/x", 404, nil),
      ("GET", "/metrics?name[]=%", 400, nil),
    ] as [(String, String, Int, String?)])
  func statuses(method: String, target: String, status: Int, allow: String?) throws {
    let client = try PageClient(exporter.address)
    client.request(method, target)
    let response = try #require(client.response(toHead: method == "HEAD"))
    #expect(response.status == status)
    #expect(response.fields["allow"] == allow)
    #expect(response.fields["x-frame-options"] == "DENY", "the user's fields are on every response")
    #expect(response.fields["content-length"] != "0")
    #expect(response.body.isEmpty == (method == "HEAD"))
    client.request("GET", "/-/healthy")
    #expect(client.response()?.text == "healthy\n", "the connection stays usable")
  }

  @Test func noCodingThatBothKnow() throws {
    let response = try #require(try PageClient.get(exporter.address, "/metrics", [("Accept-Encoding", "*;q=0")]))
    #expect(response.status == 406)
    #expect(response.fields["vary"] == "Accept, Accept-Encoding")
  }

  @Test func headHasTheFieldsOfGet() throws {
    let client = try PageClient(exporter.address)
    client.request("HEAD", "/metrics?name[]=b", [("Accept-Encoding", "gzip")])
    let head = try #require(client.response(toHead: true))
    client.request("GET", "/metrics?name[]=b", [("Accept-Encoding", "gzip")])
    let get = try #require(client.response())
    #expect(head.fields["content-length"] == get.fields["content-length"])
    #expect(head.fields["content-encoding"] == "gzip")
  }

  @Test func pipelinedScrapesComeInOrder() throws {
    let client = try PageClient(exporter.address)
    client.send(
      "GET /metrics?name[]=b HTTP/1.1\r\nHost: t\r\n\r\nGET /-/healthy HTTP/1.1\r\nHost: t\r\n\r\n"
        + "GET /metrics?name[]=a_total HTTP/1.1\r\nHost: t\r\n\r\n")
    #expect(client.response()?.text == "# HELP b B.\n# TYPE b gauge\nb 2\n")
    #expect(client.response()?.text == "healthy\n")
    #expect(client.response()?.text == "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n")
  }

  @Test func aClientThatEndedItsSideGetsThePage() throws {
    let client = try PageClient(exporter.address)
    client.request("GET", "/metrics")
    client.endSending()
    #expect(client.response()?.status == 200)
  }

  @Test func theLandingPage() throws {
    _ = try PageClient.get(exporter.address)
    let response = try #require(try PageClient.get(exporter.address, "/"))
    #expect(response.fields["content-type"] == "text/html; charset=utf-8")
    #expect(response.fields["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
    #expect(response.text.contains("<tr><th>Answered</th><td>1</td></tr>"))
  }

  @Test func itCountsItsScrapes() throws {
    for _ in 0..<3 { #expect(try PageClient.get(exporter.address)?.status == 200) }
    #expect(try PageClient.get(exporter.address, "/metrics", [("Accept-Encoding", "*;q=0")])?.status == 406)
    let page = try #require(try PageClient.get(exporter.address)).text
    let lines = page.split(separator: "\n")
    for line in [
      "weir_scrapes_total{code=\"200\"} 3", "weir_scrapes_total{code=\"406\"} 1", "weir_scrapes_total{code=\"503\"} 0",
      "weir_scrape_duration_seconds_count 3", "weir_scrape_size_bytes_count 3",
    ] {
      #expect(lines.contains(Substring(line)), "\(line)")
    }
  }
}
