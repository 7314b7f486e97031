import Foundation
import Testing
import Weir
import WeirIO
import WeirTestSupport

@testable import WeirGateway

@Suite struct DemoTokensTests {
  private struct Answer: Decodable {
    var access_token: String?
    var token_type: String?
    var expires_in: Int?
    var error: String?
    var token_number: Int?
    var token_age: Int?
  }

  private static let start = MonotonicTime(nanoseconds: 1_000_000_000)
  private static let form = "application/x-www-form-urlencoded"

  private static func basic(_ name: String, _ password: String) -> String {
    "Basic " + Data("\(name):\(password)".utf8).base64EncodedString()
  }

  private static func request(
    _ path: String, method: String = "POST", authorization: [String] = [], type: String = form,
    body: String = "grant_type=client_credentials"
  ) -> DemoRequest {
    DemoRequest(
      method: method, path: path, query: nil,
      fields: [HeaderRule(name: "content-type", value: type)]
        + authorization.map { HeaderRule(name: "authorization", value: $0) }, body: Array(body.utf8))
  }

  private static func ask(_ tokens: inout DemoTokens, _ request: DemoRequest, at seconds: Double) throws -> DemoResponse
  {
    let response = tokens.answer(to: request, at: start.advanced(bySeconds: seconds))
    return try #require(response)
  }

  private static func decode(_ response: DemoResponse) throws -> Answer {
    try JSONDecoder().decode(Answer.self, from: Data(response.body))
  }

  /// A token that the client gets.
  private static func token(_ tokens: inout DemoTokens, at seconds: Double) throws -> String {
    let request = request("/token", authorization: [basic("demo", tokens.secret)])
    let response = try ask(&tokens, request, at: seconds)
    #expect(response.status == 200)
    return try #require(try decode(response).access_token)
  }

  private static func account(_ tokens: inout DemoTokens, _ token: String, at seconds: Double) throws -> DemoResponse {
    let request = request("/account", method: "GET", authorization: ["Bearer \(token)"], body: "")
    return try ask(&tokens, request, at: seconds)
  }

  @Test func theClientGetsTokens() throws {
    var tokens = DemoTokens()
    let request = Self.request(
      "/token", authorization: ["basic" + Self.basic("demo", tokens.secret).dropFirst(5)],
      type: Self.form + "; charset=utf-8", body: "scope=a%20b&grant%5Ftype=client_credentials&x")
    let response = try Self.ask(&tokens, request, at: 0)
    #expect(response.status == 200)
    #expect(
      response.fields == [
        HeaderRule(name: "Content-Type", value: "application/json"),
        HeaderRule(name: "Cache-Control", value: "no-store"),
      ])
    let answer = try Self.decode(response)
    #expect(answer.token_type == "Bearer" && answer.expires_in == 20)
    let token = try #require(answer.access_token)
    #expect(token.count == 32 && token.allSatisfy(\.isHexDigit))
    let next = try Self.token(&tokens, at: 0)
    #expect(Set([token, next, tokens.secret, DemoTokens().secret]).count == 4)
  }

  @Test(arguments: [
    ("GET", form, "grant_type=client_credentials", 400, "invalid_request"),
    ("POST", "application/json", "{}", 400, "invalid_request"), ("POST", form, "", 400, "invalid_request"),
    ("POST", form, "grant_type=client_credentials&grant_type=client_credentials", 400, "invalid_request"),
    ("POST", form, "grant_type=password&username=a", 400, "unsupported_grant_type"),
    ("POST", form, "grant_type", 400, "unsupported_grant_type"),
  ])
  func otherRequestsAreRefused(method: String, type: String, body: String, status: Int, error: String) throws {
    var tokens = DemoTokens()
    let request = Self.request(
      "/token", method: method, authorization: [Self.basic("demo", tokens.secret)], type: type, body: body)
    let response = try Self.ask(&tokens, request, at: 0)
    #expect(response.status == status)
    #expect(try Self.decode(response).error == error)
  }

  @Test func otherClientsAreRefused() throws {
    var tokens = DemoTokens()
    let right = Self.basic("demo", tokens.secret)
    for authorization in [
      [], [right, right], [Self.basic("demo", "wrong")], [Self.basic("other", tokens.secret)],
      ["Bearer \(tokens.secret)"], ["Basic !"],
    ] {
      let request = Self.request("/token", authorization: authorization)
      let response = try Self.ask(&tokens, request, at: 0)
      #expect(response.status == 401, "\(authorization)")
      #expect(try Self.decode(response).error == "invalid_client")
      #expect(response.fields.last == HeaderRule(name: "WWW-Authenticate", value: "Basic realm=\"demo\""))
    }
  }

  @Test func theAccountTellsOfTheToken() throws {
    var tokens = DemoTokens()
    let first = try Self.token(&tokens, at: 0), second = try Self.token(&tokens, at: 15.5)
    for (token, seconds, number, age) in [(first, 0, 1, 0), (first, 19.9, 1, 19), (second, 19.9, 2, 4)] {
      let response = try Self.account(&tokens, token, at: seconds)
      #expect(response.status == 200)
      let answer = try Self.decode(response)
      #expect(answer.token_number == number && answer.token_age == age && answer.expires_in == 20 - age)
      #expect(!String(decoding: response.body, as: UTF8.self).contains(token))
    }
  }

  @Test func theAccountWantsAGoodToken() throws {
    var tokens = DemoTokens()
    let token = try Self.token(&tokens, at: 0)
    for (wrong, seconds) in [(token, 20.0), ("wrong", 1), (String(token.dropLast()), 1), (tokens.secret, 1)] {
      let response = try Self.account(&tokens, wrong, at: seconds)
      #expect(response.status == 401)
      let challenge = "Bearer realm=\"demo\", error=\"invalid_token\""
      #expect(response.fields.last == HeaderRule(name: "WWW-Authenticate", value: challenge))
    }
    for authorization in [[], [Self.basic("demo", tokens.secret)], ["Bearer \(token)", "Bearer \(token)"]] {
      let request = Self.request("/account", method: "GET", authorization: authorization)
      let response = try Self.ask(&tokens, request, at: 1)
      #expect(response.status == 401)
      #expect(response.fields.last == HeaderRule(name: "WWW-Authenticate", value: "Bearer realm=\"demo\""))
    }
    // An old token stays of no use once there is a new one.
    _ = try Self.token(&tokens, at: 30)
    #expect(try Self.account(&tokens, token, at: 30).status == 401)
  }

  @Test(arguments: ["/", "/token/x", "/account/x", "/echo", "/tokens", "/Account"])
  func otherPathsAreNotItsOwn(path: String) {
    var tokens = DemoTokens()
    let response = tokens.answer(to: Self.request(path), at: Self.start)
    #expect(response == nil)
  }

  @Test func theGatewayKnowsTheClient() async throws {
    let origin = try DemoOrigin()
    let configuration = try origin.configuration()
    #expect(configuration.routes.map(\.name) == ["demo", "flaky", "account"])
    #expect(configuration.routes.map(\.credential) == [nil, nil, "demo"])
    let credential = try #require(configuration.credentials.first)
    #expect(configuration.credentials.count == 1 && credential.name == "demo")
    guard case .oauth2(let settings, nil, proxy: .off, wait: 5) = credential.kind else {
      Issue.record("\(credential)")
      return
    }
    #expect("\(settings.tokenURL)" == "http://\(origin.address)/token")
    #expect(settings.clientID == "demo" && settings.grant == .clientCredentials)
    await origin.stop()
  }
}
