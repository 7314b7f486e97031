import Testing
import Weir
import WeirTestSupport

/// What arrives at a server of what a request says.
@Suite(.needs(.gunicorn)) struct BinEchoTests {
  let client: MeasuredSession

  init() throws {
    client = try MeasuredSession()
  }

  @Test(arguments: [HTTPMethod.get, .post, .put, .patch, .delete])
  func methodsArrive(method: HTTPMethod) async throws {
    let echo = try await client.session.request(try await Bin.url("/anything/a/b%20c?x=1"), method: method).validate()
      .serializingDecodable(PlainEcho.self).value
    #expect(echo.method == method.rawValue)
    #expect(echo.url == (try await Bin.url("/anything/a/b%20c?x=1")))
    #expect(echo.args == ["x": "1"])
    #expect(echo.data.isEmpty)
    #expect(client.sum("weir_requests_total", ["http_request_method": method.rawValue, "outcome": "success"]) == 1)
  }

  @Test func headAndOptionsHaveNoBody() async throws {
    let head = await client.session.request(try await Bin.url("/get"), method: .head).serializingData().response
    #expect(head.value == Data())
    #expect(head.response?.headers["Content-Type"] == "application/json")
    #expect(Int(head.response?.headers["Content-Length"] ?? "") ?? 0 > 0)
    let options = await client.session.request(try await Bin.url("/get"), method: .options)
      .serializingData(emptyResponseCodes: [200]).response
    #expect(options.response?.headers["Allow"]?.contains("HEAD") == true, "\(options)")
    #expect(client.sum("weir_connections_opened_total") == 1)
  }

  @Test(arguments: [HTTPMethod.post, .put, .patch, .delete])
  func encodableParametersTravelAsJSON(method: HTTPMethod) async throws {
    let echo = try await client.session
      .request(
        try await Bin.url("/anything"), method: method, parameters: Order(), encoder: JSONParameterEncoder.default
      )
      .serializingDecodable(Echo<Order>.self).value
    #expect(echo.json == Order())
    #expect(echo.headers["Content-Type"] == "application/json")
    #expect(echo.headers["Content-Length"] == "\(echo.data.utf8.count)")
  }

  @Test func dictionariesTravelAsJSON() async throws {
    let parameters: Parameters = [
      "title": Order().title, "tags": Order().tags, "size": ["width": 3, "isExact": true] as [String: any Sendable],
    ]
    let echo = try await client.session
      .request(
        try await Bin.url("/anything"), method: .post, parameters: parameters, encoding: JSONEncoding.default
      ).serializingDecodable(Echo<Order>.self).value
    #expect(echo.json == Order())
  }

  private static let asForm: [String: PlainEcho.Values] = [
    "title": "two words & \"quotes\" = ü/?", "tags[]": ["a", "b+c"], "size[width]": "3", "size[isExact]": "1",
  ]

  @Test func parametersTravelAsAForm() async throws {
    let url = try await Bin.url("/anything")
    let encoded = try await client.session.request(url, method: .post, parameters: Order())
      .serializingDecodable(PlainEcho.self).value
    #expect(encoded.form == Self.asForm)
    #expect(encoded.headers["Content-Type"] == "application/x-www-form-urlencoded; charset=utf-8")
    let parameters: Parameters = [
      "title": Order().title, "tags": Order().tags, "size": ["width": 3, "isExact": true] as [String: any Sendable],
    ]
    let dictionary = try await client.session.request(url, method: .put, parameters: parameters)
      .serializingDecodable(PlainEcho.self).value
    #expect(dictionary.form == Self.asForm)
  }

  @Test func parametersTravelInTheQuery() async throws {
    let echo = try await client.session.request(try await Bin.url("/anything?first=1"), parameters: Order())
      .serializingDecodable(PlainEcho.self).value
    #expect(echo.args == Self.asForm.merging(["first": "1"]) { $1 })
    #expect(echo.headers["Content-Type"] == nil)
  }

  @Test func headersArriveAsSetAndWithTheDefaults() async throws {
    let client = try MeasuredSession { $0.headers.add(name: "X-Team", value: "shop") }
    let headers: HTTPHeaders = ["x-team": "own", "X-Trace": "a, b", "X-Empty": "", "Authorization": "Bearer t"]
    let echo = try await client.session.request(try await Bin.url("/anything"), headers: headers)
      .serializingDecodable(PlainEcho.self).value
    #expect(echo.headers["X-Team"] == "own")
    #expect(echo.headers["X-Trace"] == "a, b")
    #expect(echo.headers["X-Empty"] == "")
    #expect(echo.headers["Authorization"] == "Bearer t")
    #expect(echo.headers["Accept-Encoding"] == "gzip, deflate")
    #expect(echo.headers["User-Agent"] == HTTPHeader.defaultUserAgent.value)
    // libcurl adds none of its own.
    #expect(echo.headers["Expect"] == nil)
  }

  @Test func cookiesAreNotKept() async throws {
    let text = try await client.text(try await Bin.url("/cookies/set?session=secret"))
    #expect(text.filter { !$0.isWhitespace } == #"{"cookies":{}}"#)
    #expect(client.sum("weir_redirects_total", ["http_response_status_code": "302"]) == 1)
  }

  @Test func credentialsAreSentWhenTheyAreSetAndOnlyThen() async throws {
    let url = try await Bin.url("/basic-auth/user/pass")
    #expect(await client.get(url).statusCode == 401)
    let header = HTTPHeader.authorization(username: "user", password: "pass")
    #expect(
      try await client.session.request(url, headers: [header]).validate().serializingString().value.contains("true"))
    #expect(client.sum("weir_requests_total", ["outcome": "http_error"]) == 1)
    #expect(client.sum("weir_requests_total", ["outcome": "success"]) == 1)
  }
}
