import Foundation
import FoundationNetworking
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

@Suite("OAuth2 on the wire", .timeLimit(.minutes(5))) struct OAuth2AuthenticatorTests {
  private func failure(_ settings: OAuth2Settings, _ session: Session = Session()) async -> OAuth2Error? {
    await #expect(throws: OAuth2Error.self) {
      try await OAuth2Authenticator(settings).refresh(.absent, for: session)
    }
  }

  @Test("The request for a token, and what it does not get of its session")
  func request() async throws {
    let service = try TokenService(
      .send(response("200 OK", ["Set-Cookie: seen=1"], body: #"{"access_token": "t1", "expires_in": 60}"#)))
    var configuration = SessionConfiguration.default
    configuration.headers.add(name: "Authorization", value: "Bearer of-the-session")
    configuration.headers.add(name: "X-Other", value: "kept")
    let storage = CookieStorage()
    configuration.httpCookieStorage = storage
    let cookie = HTTPCookie(properties: [.name: "mine", .value: "1", .domain: "127.0.0.1", .path: "/"])
    storage.setCookie(try #require(cookie))
    let asked = Journal<String>()
    let session = Session(
      configuration: configuration, startRequestsImmediately: false,
      interceptor: Interceptor(
        adaptHandler: { urlRequest, _, completion in
          asked.append("adapter")
          var urlRequest = urlRequest
          urlRequest.setValue("of-the-session", forHTTPHeaderField: "X-API-Key")
          completion(.success(urlRequest))
        },
        retryHandler: { _, _, _, completion in
          asked.append("retrier")
          completion(.doNotRetry)
        }))
    let token = try await OAuth2Authenticator(service.settings(.post("client-secret"))).refresh(.absent, for: session)
    #expect(token.accessToken == "t1")
    let request = try #require(service.asked.first)
    #expect(request.line == "POST /token HTTP/1.1")
    #expect(request.value(of: "Content-Type") == "application/x-www-form-urlencoded")
    #expect(request.value(of: "Accept") == "application/json")
    #expect(request.value(of: "X-Other") == "kept")
    for name in ["Authorization", "X-API-Key", "Cookie"] { #expect(!request.has(name), "\(name)") }
    #expect(request.body == "grant_type=client_credentials&scope=read&client_id=shop&client_secret=client-secret")
    #expect(asked.entries.isEmpty)
    #expect(storage.cookies.map(\.name) == ["mine"])
    service.answer(.refusal("invalid_client", "401 Unauthorized"))
    #expect(await failure(try service.settings(), session)?.reason == .invalidClient)
    #expect(asked.entries.isEmpty, "nor are its retriers asked")
    let pair = Data("shop:client-secret".utf8).base64EncodedString()
    #expect(service.asked.last?.value(of: "Authorization") == "Basic \(pair)")
  }

  @Test(
    "A failed transfer, 408, 429 and 5xx are repeated, twice at most",
    arguments: [
      .close, .refusal("x", "408 Request Timeout"), .refusal("x", "429 Too Many Requests"),
      .refusal("x", "500 Internal Server Error"), .refusal("x", "503 Service Unavailable"), .refusal("x", "599 Odd"),
    ] as [Script.Step])
  func repeated(_ step: Script.Step) async throws {
    let service = try TokenService(step, step, .token("t"))
    var settings = try service.settings()
    settings.timeout = 50
    #expect(try await OAuth2Authenticator(settings).refresh(.absent, for: Session()).accessToken == "t")
    #expect(service.asked.count == 3)
    let down = try TokenService(step)
    settings.tokenURL = try "\(down.url)token".asURL()
    let failure = await failure(settings)
    #expect(failure?.reason == .response || failure?.reason == .transport)
    #expect(down.asked.count == 3)
  }

  @Test(
    "Any other refusal is not",
    arguments: [
      .refusal("invalid_grant"), .refusal("invalid_client", "401 Unauthorized"), .refusal("x", "404 Not Found"),
      .send(okResponse("<html>")), .token("t", lifetime: "0"), .send(response("302 Found", ["Location: /other"])),
    ] as [Script.Step])
  func notRepeated(_ step: Script.Step) async throws {
    let service = try TokenService(step)
    #expect(await failure(try service.settings()) != nil)
    #expect(service.server.allRequests.map(\.target) == ["/token"], "and no redirect is followed")
  }

  @Test("A service that asks to wait beyond the timeout is left alone, and the wait is told")
  func retryAfter() async throws {
    let service = try TokenService(.refusal("x", "503 Service Unavailable", ["Retry-After: 30"]))
    let failure = await failure(try service.settings())
    #expect(failure?.retryAfter == 30)
    #expect(failure?.text == "The token service answered 503: x.")
    #expect(service.asked.count == 1)
  }

  @Test("A service that never answers, or drips, ends with the timeout", arguments: [true, false])
  func timeout(drips: Bool) async throws {
    let gate = Gate()
    let service = try TokenService(
      drips ? .drip(okResponse(String(repeating: "x", count: 10_000)), every: 0.01) : .wait(gate))
    var settings = try service.settings()
    settings.timeout = 0.5
    let failure = await failure(settings)
    // The server's end waits for its scripts.
    gate.open()
    withExtendedLifetime(service) {}
    #expect(failure?.reason == .timeout)
    #expect(failure?.text.hasPrefix("The token service gave no answer. ") == true)
  }

  @Test("A service that is not there")
  func refused() async throws {
    let service = try TokenService(.close)
    let settings = try service.settings()
    service.server.stop()
    let failure = await failure(settings)
    #expect(failure?.reason == .transport)
    #expect(failure?.text.contains("127.0.0.1") == true)
  }

  @Test("An answer is of at most 64 KiB while it arrives, whatever the session allows", arguments: [65_536, 65_537])
  func size(_ count: Int) async throws {
    let answer = #"{"access_token": "t"}"#
    let service = try TokenService(.send(okResponse(answer + String(repeating: " ", count: count - answer.utf8.count))))
    let authenticator = OAuth2Authenticator(try service.settings())
    if count == 65_536 {
      #expect(try await authenticator.refresh(.absent, for: Session()).accessToken == "t")
    } else {
      let failure = await failure(try service.settings())
      #expect(failure?.text == "The token service's answer is larger than 64 KiB.")
      #expect(failure?.reason == .response)
    }
  }

  @Test("Secrets are read anew for each request for a token")
  func followed() async throws {
    let service = try TokenService(.token("t"))
    let directory = try TemporaryDirectory()
    let file = try SecretFile(directory.file("secret", "first-one\n"))
    let authenticator = OAuth2Authenticator(try service.settings(.post(Secret(file))))
    _ = try await authenticator.refresh(.absent, for: Session())
    try directory.file("secret", "the-second\n")
    try await eventually("it is read again") { file.version == 2 }
    _ = try await authenticator.refresh(.absent, for: Session())
    #expect(service.asked.map { $0.body.split(separator: "=").last } == ["first-one", "the-second"])
  }

  @Test("The lifetime counts from when the token was asked for; without one the settings say it")
  func expiry() async throws {
    let gate = Gate()
    let service = try TokenService(
      .steps([.wait(gate), .token("t", lifetime: "60")]), .send(okResponse(#"{"access_token": "u"}"#)))
    var settings = try service.settings()
    settings.lifetime = 1000
    settings.timeout = 50
    let began = MonotonicTime.now
    async let waiting = OAuth2Authenticator(settings).refresh(.absent, for: Session())
    try await eventually("it is asked") { service.asked.count == 1 }
    let asked = MonotonicTime.now
    gate.open()
    let token = try await waiting
    #expect(token.expires >= began.advanced(bySeconds: 60) && token.expires <= asked.advanced(bySeconds: 60))
    let next = try await OAuth2Authenticator(settings).refresh(token, for: Session())
    #expect(next.expires > asked.advanced(bySeconds: 1000))
    #expect(!next.requiresRefresh && !next.isAgeing)
  }

  @Test("A token whose lifetime was over before it came is a failure")
  func over() async throws {
    let service = try TokenService(.steps([.sleep(1.1), .token("t", lifetime: "1")]))
    var settings = try service.settings()
    settings.timeout = 50
    let failure = await failure(settings)
    #expect(failure?.text == "The token was good for 1.0 s, which were over before it came.")
    #expect(failure?.reason == .response)
  }

  @Test("Nothing is sent to a URL that would show the secret")
  func plain() async throws {
    let failure = await failure(OAuth2Settings(tokenURL: try "http://id.example/token".asURL()))
    #expect(failure?.reason == .error)
    #expect(failure?.text == "The tokenURL is neither https nor http on a loopback address.")
  }

  @Test("The session of the gateway's own")
  func ownSession() async throws {
    let service = try TokenService(.token("t"))
    let session = Session(configuration: OAuth2Authenticator.sessionConfiguration(tls: nil))
    #expect(try await OAuth2Authenticator(service.settings()).refresh(.absent, for: session).accessToken == "t")
    let request = try #require(service.asked.first)
    #expect(!request.has("Accept-Encoding") && !request.has("Accept-Language") && request.has("User-Agent"))
    var tls = TLSConfiguration()
    tls.minimumVersion = .tls13
    let configuration = OAuth2Authenticator.sessionConfiguration(tls: tls)
    #expect(configuration.httpCookieStorage == nil && configuration.urlCache == nil)
    #expect(configuration.urlCredentialStorage == nil && configuration.maximumResponseSize == 65_536)
    #expect(configuration.tls.minimumVersion == .tls13)
  }
}
