import Testing
import Weir
import WeirTestSupport

@Suite(.needs(.gunicorn)) struct BinRedirectTests {
  @Test(arguments: ["relative-redirect", "absolute-redirect"])
  func redirectsAreFollowed(kind: String) async throws {
    let client = try MeasuredSession()
    let response = await client.get(try await Bin.url("/\(kind)/5"))
    #expect(response.statusCode == 200, "\(response)")
    #expect(response.response?.url?.path == "/get")
    #expect(response.metrics?.redirectCount == 5)
    #expect(client.sum("weir_redirects_total", ["http_response_status_code": "302"]) == 5)
    #expect(client.sum("weir_attempts_started_total") == 1)
    #expect(client.sum("weir_requests_total", ["outcome": "success"]) == 1)
    #expect(client.sum("weir_connections_opened_total") == 1)
  }

  @Test(arguments: [(3, 3, true), (3, 4, false), (0, 1, false), (20, 20, true)])
  func thereIsALimit(limit: Int, hops: Int, arrives: Bool) async throws {
    let client = try MeasuredSession { $0.maximumRedirects = limit }
    let response = await client.get(try await Bin.url("/relative-redirect/\(hops)"))
    #expect(response.urlErrorCode == (arrives ? nil : .httpTooManyRedirects), "\(response)")
    #expect(client.sum("weir_requests_total", ["outcome": arrives ? "success" : "limit_exceeded"]) == 1)
  }

  @Test func aRedirectMayBeRefused() async throws {
    let client = try MeasuredSession()
    let response = await client.session.request(try await Bin.url("/relative-redirect/2"))
      .redirect(using: Redirector.doNotFollow).serializingData().response
    #expect(response.statusCode == 302)
    #expect(response.response?.headers["Location"] == "/relative-redirect/1")
    #expect(response.metrics?.redirectCount == 0)
  }

  @Test(arguments: [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
  func theStatusDecidesWhatBecomesOfAPost(status: Int, method: String) async throws {
    let client = try MeasuredSession()
    let echo = try await client.session
      .request(
        try await Bin.url("/redirect-to?url=/anything&status_code=\(status)"), method: .post, parameters: Order(),
        encoder: JSONParameterEncoder.default
      ).validate().serializingDecodable(Echo<Order>.self).value
    #expect(echo.method == method)
    #expect(echo.json == (method == "POST" ? Order() : nil))
    #expect(echo.headers["Content-Type"] == (method == "POST" ? "application/json" : nil))
    #expect(client.sum("weir_redirects_total", ["http_response_status_code": "\(status)"]) == 1)
  }

  @Test func anotherHostIsToldNoSecrets() async throws {
    let client = try MeasuredSession { $0.headers.add(.authorization(bearerToken: "session")) }
    let there = try await Bin.url("/anything").replacing("127.0.0.1", with: "localhost")
    for (target, expected) in [("/anything", "mine"), (there, nil)] {
      let echo = try await client.session
        .request(
          try await Bin.url("/redirect-to"), parameters: ["url": target],
          headers: ["Cookie": "mine", "X-Kept": "yes"]
        ).validate().serializingDecodable(PlainEcho.self).value
      #expect(echo.headers["Cookie"] == expected)
      #expect(echo.headers["Authorization"] == expected.map { _ in "Bearer session" })
      #expect(echo.headers["X-Kept"] == "yes")
    }
  }

  @Test(arguments: ["ftp://127.0.0.1/", "file:///etc/passwd"])
  func otherSchemesAreNotFollowed(target: String) async throws {
    let client = try MeasuredSession()
    let response = await client.session.request(try await Bin.url("/redirect-to"), parameters: ["url": target])
      .serializingData().response
    #expect(response.urlErrorCode == .unsupportedURL, "\(response)")
  }
}
