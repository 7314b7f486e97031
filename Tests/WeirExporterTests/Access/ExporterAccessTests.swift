import Foundation
import Testing
import WeirExporter
import WeirMetrics

/// What a client sees of an exporter that doesn't let everybody in.
@Suite final class ExporterAccessTests {
  let exporter: Exporter

  init() throws {
    var options = Exporter.Options()
    options.registersProcessMetrics = false
    options.headers = ["X-Frame-Options": "DENY"]
    options.access = AccessControl(users: ["prometheus": Sample.secret])
    exporter = try Exporter(listenAddress: "127.0.0.1:0", options: options).start()
  }

  deinit {
    exporter.stop(grace: 0)
  }

  private func get(_ path: String, _ user: String?, on exporter: Exporter? = nil) throws -> PageClient.Response {
    let fields = user.map { [("Authorization", "Basic " + Data($0.utf8).base64EncodedString())] } ?? []
    return try #require(try PageClient.get((exporter ?? self.exporter).address, path, fields))
  }

  /// As in Prometheus' own exporters, health included; and nobody is told which paths there are.
  @Test(arguments: ["/metrics", "/", "/-/healthy", "/-/ready", "/nowhere"])
  func everyPathAsks(path: String) throws {
    for user in [nil, "prometheus:wrong", "nobody:secret", "prometheus"] {
      let response = try get(path, user)
      #expect(response.status == 401, "\(path) \(user ?? "")")
      #expect(response.text == "unauthorized\n")
      #expect(response.fields["www-authenticate"] == #"Basic realm="metrics", charset="UTF-8""#)
      #expect(response.fields["x-frame-options"] == "DENY")
    }
    for _ in 0..<2 { #expect(try get(path, "prometheus:secret").status == (path == "/nowhere" ? 404 : 200)) }
  }

  @Test func excludedPathsAskNobody() throws {
    var access = AccessControl(users: ["prometheus": Sample.secret])
    access.excludedPaths = ["/-/healthy", "/nowhere"]
    try exporter.setAccess(access)
    let expected = [
      ("/-/healthy", 200), ("/nowhere", 404), ("/-/ready", 401), ("/metrics", 401), ("/-/%68ealthy", 401),
    ]
    for (path, status) in expected { #expect(try get(path, nil).status == status, "\(path)") }
    #expect(try get("/-/healthy?a", nil).status == 200)
    access.excludedPaths = []
    try exporter.setAccess(access)
    #expect(try get("/-/healthy", nil).status == 401)
    access.excludedPaths = ["healthy"]
    #expect(throws: ExporterError.self) { try exporter.setAccess(access) }
  }

  @Test func refusalsAreCounted() throws {
    let name = "/metrics?name[]=weir_scrapes_total"
    #expect(try get(name, "prometheus:secret").text.contains("weir_scrapes_total{code=\"401\"} 0\n"))
    for user in [nil, "prometheus:wrong"] { #expect(try get("/metrics", user).status == 401) }
    #expect(try get("/", nil).status == 401)
    let page = try get(name, "prometheus:secret").text
    #expect(page.contains("weir_scrapes_total{code=\"401\"} 2\n"))
  }

  @Test func whoMayComeCanChange() throws {
    let client = try PageClient(exporter.address)
    func status(_ user: String?) -> Int? {
      let fields = user.map { [("Authorization", "Basic " + Data($0.utf8).base64EncodedString())] } ?? []
      client.request("GET", "/-/healthy", fields)
      return client.response()?.status
    }
    #expect(status("prometheus:secret") == 200)
    try exporter.setAccess(AccessControl(users: ["other": Sample.slower]))
    #expect(status("prometheus:secret") == 401, "what was right once is no more")
    #expect(status("other:secret") == 200)
    #expect(throws: ExporterError.self) { try exporter.setAccess(AccessControl()) }
    #expect(status(nil) == 401, "all stays as it was")
    try exporter.setAccess(nil)
    #expect(status(nil) == 200)
  }

  @Test func requestsBehindOneAnotherKeepTheirOrder() throws {
    let client = try PageClient(exporter.address)
    let right = Data("prometheus:secret".utf8).base64EncodedString()
    client.request("POST", "/metrics", [("Authorization", "Basic \(right)")])
    client.request("GET", "/-/healthy")
    client.request("GET", "/-/healthy", [("Authorization", "Basic \(right)")])
    #expect((0..<3).map { _ in client.response()?.status } == [405, 401, 200])
  }

  @Test func whoLeavesWhileThePasswordIsCheckedIsForgotten() throws {
    for _ in 0..<20 {
      let client = try PageClient(exporter.address)
      let user = Data("prometheus:\(UInt32.random(in: 0 ... .max))".utf8).base64EncodedString()
      client.request("GET", "/metrics", [("Authorization", "Basic \(user)")])
      client.reset()
    }
    #expect([200, 503].contains(try get("/metrics", "prometheus:secret").status))
  }

  @Test func tokensOnly() throws {
    var options = Exporter.Options()
    options.registersProcessMetrics = false
    options.access = AccessControl(bearerTokens: ["t0ken"])
    let exporter = try Exporter(listenAddress: "127.0.0.1:0", options: options).start()
    defer { exporter.stop(grace: 0) }
    let refused = try get("/metrics", "t0ken:t0ken", on: exporter)
    #expect(refused.status == 401)
    #expect(refused.fields["www-authenticate"] == #"Bearer realm="metrics""#)
    let fields = [("Authorization", "Bearer t0ken")]
    #expect(try PageClient.get(exporter.address, "/metrics", fields)?.status == 200)
  }
}
