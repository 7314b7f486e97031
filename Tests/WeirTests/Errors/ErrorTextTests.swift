import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirCurl
import WeirTestSupport

/// The texts of errors that somebody meets, to the letter: what went wrong, the setting that decides with its value, and
/// which request it was.
@Suite("Texts of errors", .timeLimit(.minutes(5)))
struct ErrorTextTests {
  /// The further limit that libcurl's engine has.
  private static let ofLibcurl = HTTP1EngineChoice.standard == .libcurl ? ", or a line of it 100 KiB" : ""

  enum TokenError: Error { case expired, revoked(by: String) }
  struct Broken: Error { let line = 3 }

  struct Trial: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    let fail: @Sendable () async throws -> WeirError?

    init(_ name: String, _ text: String, _ fail: @escaping @Sendable () async throws -> WeirError?) {
      self.name = name
      self.text = text
      self.fail = fail
    }

    var testDescription: String { name }
  }

  /// Ports and times differ from run to run.
  private static func normal(_ text: String) -> String {
    text.replacing(/after \d+\.\d{3} s\)$/, with: "after T s)").replacing(/(127\.0\.0\.1|localhost|invalid):\d+/) {
      "\($0.output.1):P"
    }
    .replacing(/\ port \d+/, with: " port P")
    .replacing(/after \d+ milliseconds/, with: "after N milliseconds")
    .replacing(/OpenSSL\/\S+ error:\S+ routines::/, with: "OpenSSL: ")
  }

  private static func configuration(_ change: (inout SessionConfiguration) -> Void) -> SessionConfiguration {
    var configuration = SessionConfiguration()
    change(&configuration)
    return configuration
  }

  private static func error(
    _ url: String, _ interceptor: (any RequestInterceptor)? = nil, method: HTTPMethod = .get,
    _ change: @Sendable (inout SessionConfiguration) -> Void = { _ in }
  ) async -> WeirError? {
    let session = Session(configuration: configuration(change), interceptor: interceptor)
    return await session.request(url, method: method).validate().serializingData().response.error
  }

  private static let closed = Trial(
    "closed port",
    "The transfer failed: Failed to connect to 127.0.0.1 port P: Connection refused (nothing listens there) "
      + "(POST http://127.0.0.1:P, attempt 1, after T s)"
  ) {
    let server = try answering("")
    server.stop()
    return await error(server.url, method: .post)
  }

  private static let retried = Trial(
    "closed port, retried",
    "The transfer failed: Failed to connect to 127.0.0.1 port P: Connection refused (nothing listens there) "
      + "(GET http://127.0.0.1:P, attempt 3, after T s)"
  ) {
    let server = try answering("")
    server.stop()
    return await error(server.url, RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0.001))
  }

  private static let unknownName = Trial(
    "unknown name",
    "The transfer failed: Could not resolve host: nowhere.invalid (check the name and the machine's resolver; "
      + "resolveOverrides answers in its place) (GET http://nowhere.invalid:P, attempt 1, after T s)"
  ) { await error("http://nowhere.invalid/") }

  private static let silence = Trial(
    "silence",
    "The transfer failed: nothing was sent or received for 0.05 s (timeoutIntervalForRequest) "
      + "(GET http://127.0.0.1:P, attempt 1, after T s)"
  ) {
    let hole = try BlackHole()
    return await error(hole.url) { $0.timeoutIntervalForRequest = 0.05 }
  }

  private static let ownSilence = Trial(
    "silence, by the URL request",
    "The transfer failed: nothing was sent or received for 0.05 s (the URL request's timeoutInterval) "
      + "(GET http://127.0.0.1:P, attempt 1, after T s)"
  ) {
    let hole = try BlackHole()
    let session = Session()
    return await session.request(hole.url, requestModifier: { $0.timeoutInterval = 0.05 }).plainResponse().error
  }

  private static let attempt = Trial(
    "attempt",
    "The transfer failed: the head of the response did not come within 0.05 s (attemptTimeout) "
      + "(GET http://127.0.0.1:P, attempt 1, after T s)"
  ) {
    let hole = try BlackHole()
    return await error(hole.url) { $0.attemptTimeout = 0.05 }
  }

  /// Some facts are in its own words, which change.
  private static let isOldLibcurl = CurlLibrary.version.hasPrefix("7.")

  private static let connect = Trial(
    "connect",
    "The transfer failed: "
      + (isOldLibcurl
        ? "Failed to connect to 127.0.0.1 port P: Timeout was reached" : "Connection timed out after N milliseconds")
      + " (connectTimeout: 0.05 s) (GET http://127.0.0.1:P, attempt 1, after T s)"
  ) {
    let full = try FullListener()
    return await error(full.url) { $0.connectTimeout = 0.05 }
  }

  private static let plain = Trial(
    "https where http is spoken",
    "The transfer failed: "
      + (isOldLibcurl ? "OpenSSL: " : "TLS connect error: error:0A00010B:SSL routines::")
      + "wrong version number (the server seems to speak plain http there) "
      + "(GET https://127.0.0.1:P, attempt 1, after T s)"
  ) {
    let server = try ScriptedServer(Script(.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .awaitClose))
    return await error(server.url.replacing("http:", with: "https:"))
  }

  private static let deadlines = [
    Trial(
      "deadline",
      "The transfer failed: the request took longer than its deadline, 0.05 s "
        + "(GET http://127.0.0.1:P, attempt 1, after T s)"
    ) {
      let hole = try BlackHole()
      let session = Session()
      return await session.request(hole.url).deadline(0.05).plainResponse().error
    },
    Trial(
      "the session's deadline",
      "The transfer failed: the request took longer than its timeoutIntervalForResource, 0.05 s "
        + "(GET http://127.0.0.1:P, attempt 1, after T s)"
    ) {
      let hole = try BlackHole()
      return await error(hole.url) { $0.timeoutIntervalForResource = 0.05 }
    },
  ]

  private static let sizes = [
    Trial(
      "size of a body",
      "The transfer failed: the response is larger than maximumResponseSize (4 bytes) "
        + "(GET http://127.0.0.1:P, attempt 1, after T s)"
    ) {
      let server = try answering(okResponse("12345"))
      return await error(server.url) { $0.maximumResponseSize = 4 }
    },
    Trial(
      "size of a head",
      "The transfer failed: the response head exceeds maximumHeaderSize\(ofLibcurl) (20 bytes) "
        + "(GET http://127.0.0.1:P, attempt 1, after T s)"
    ) {
      let server = try answering(okResponse("12345"))
      return await error(server.url) { $0.maximumHeaderSize = 20 }
    },
    Trial(
      "redirects",
      "The transfer failed: more redirects than maximumRedirects (2) (GET http://127.0.0.1:P, attempt 1, after T s)"
    ) {
      let server = try answering(response("302 Found", ["Location: /again?key=s3cret"]))
      return await error(server.url) { $0.maximumRedirects = 2 }
    },
  ]

  private static let policy = Trial(
    "policy",
    "The transfer failed: destinationPolicy refuses 127.0.0.1 as not public (loopback, 127.0.0.0/8) "
      + "(GET http://127.0.0.1:P, attempt 1, after T s)"
  ) {
    let server = try answering(okResponse("in"))
    return await error(server.url) { $0.destinationPolicy = .publicOnly }
  }

  private static let adapters = [
    Trial("an adapter's enum", "The request could not be adapted: TokenError.expired") {
      await error("http://127.0.0.1/", Adapter { _, _, completion in completion(.failure(TokenError.expired)) })
    },
    Trial("with a value", #"The request could not be adapted: TokenError.revoked(by: "hand")"#) {
      await error(
        "http://127.0.0.1/", Adapter { _, _, completion in completion(.failure(TokenError.revoked(by: "hand"))) })
    },
    Trial("an adapter's struct", "The request could not be adapted: Broken(line: 3)") {
      await error("http://127.0.0.1/", Adapter { _, _, completion in completion(.failure(Broken())) })
    },
    Trial("an adapter's own words", "The request could not be adapted: sample reason") {
      await error("http://127.0.0.1/", Adapter { _, _, completion in completion(.failure(SampleError())) })
    },
    Trial(
      "a retrier",
      "The retrier failed (TokenError.expired) when it was asked about: "
        + "The response is not acceptable. Its status code is 500."
    ) {
      let server = try answering(response("500 Oops"))
      let session = Session(
        interceptor: Retrier { _, _, _, completion in completion(.doNotRetryWithError(TokenError.expired)) })
      return await session.request(server.url).validate().plainResponse().error
    },
    Trial(
      "a credential that is missing",
      "The request could not be adapted: There is no credential to authenticate with: set the interceptor's credential."
    ) {
      await error(
        "http://127.0.0.1/",
        Adapter { _, _, completion in completion(.failure(AuthenticationError.missingCredential)) })
    },
  ]

  private struct Order: Decodable { let id: Int }

  private static func decoded(_ answer: String) async throws -> WeirError? {
    let server = try answering(answer)
    let session = Session()
    return await session.request(server.url).serializingDecodable(Order.self).response.error
  }

  private static let bodies = [
    Trial(
      "HTML for JSON",
      "The response could not be serialized. The body could not be decoded: The given data was not valid JSON. "
        + "The response, status 502, has Content-Type text/html; validate() refuses such a status."
    ) { try await decoded(response("502 Bad Gateway", ["Content-Type: text/html; charset=utf-8"], body: "<html>")) },
    Trial(
      "no type",
      "The response could not be serialized. The body could not be decoded: The given data was not valid JSON. "
        + "The response, status 200, has no Content-Type; validate(contentType:) refuses what is not expected."
    ) { try await decoded(response("200 OK", body: "{")) },
    Trial(
      "JSON of another kind",
      #"The response could not be serialized. The body could not be decoded: there is no "id""#
    ) { try await decoded(response("200 OK", ["Content-Type: application/json"], body: "{}")) },
    Trial(
      "JSON of a refusal",
      "The response could not be serialized. The body could not be decoded: "
        + #"there is no "id"; the response has status 404, which validate() refuses"#
    ) { try await decoded(response("404 Not Found", ["Content-Type: application/json"], body: "{}")) },
    Trial(
      "empty",
      "The response could not be serialized. "
        + "The body is empty; emptyResponseCodes and emptyRequestMethods say when it may be."
    ) { try await decoded(response("200 OK")) },
    Trial("status", "The response is not acceptable. Its status code is 404.") {
      let server = try answering(response("404 Not Found"))
      return await error(server.url)
    },
  ]

  private static let circuit = Trial(
    "circuit",
    "The request was not admitted. The destination's circuit is open (circuitBreaker)."
  ) {
    let server = try answering(response("500 Oops"))
    let session = Session(
      configuration: configuration { $0.circuitBreaker = CircuitBreaker(minimumRequests: 1) })
    _ = await session.request(server.url).plainResponse()
    return await session.request(server.url).plainResponse().error
  }

  /// What a second or third request meets whose destination's only slot is taken.
  private static func waiting(
    behind count: Int, _ change: @Sendable (inout SessionConfiguration) -> Void
  ) async throws -> WeirError? {
    let hole = try BlackHole()
    let session = Session(
      configuration: configuration { configuration in
        configuration.httpMaximumConnectionsPerHost = 1
        change(&configuration)
      })
    let earlier = (0..<count).map { _ in session.request(hole.url).response { _ in } }
    try await eventually("they are there") { earlier.allSatisfy { $0.task != nil } }
    let error = await session.request(hole.url).plainResponse().error
    for request in earlier { request.cancel() }
    return error
  }

  private static let admissions = [
    Trial(
      "a full queue",
      "The request was not admitted. Too many requests wait for the destination (maximumPendingRequestsPerHost)."
    ) { try await waiting(behind: 2) { $0.maximumPendingRequestsPerHost = 1 } },
    Trial(
      "a long wait", "The request was not admitted. It waited longer for the destination than admissionTimeout."
    ) { try await waiting(behind: 1) { $0.admissionTimeout = 0.05 } },
  ]

  static let all =
    [closed, retried, unknownName, silence, ownSilence, attempt, connect, plain, policy, circuit] + deadlines + sizes
    + adapters
    + bodies + admissions

  @Test("Each says what, which setting and which request", arguments: all)
  func texts(_ trial: Trial) async throws {
    let error = try #require(await trial.fail())
    let text = Self.normal(error.localizedDescription).replacing(/in \d+(\.\d+)? s\.$/, with: "in D s.")
      // Called late, libcurl 7.88.1 notices another of its limits first.
      .replacing("Connection timeout (", with: "Failed to connect to 127.0.0.1 port P: Timeout was reached (")
    #expect(text == trial.text)
    #expect("\(error)" == "\(error.label): \(error.localizedDescription)")
  }

  @Test("An error that knows nothing of its request is described with it")
  func descriptions() async throws {
    let server = try answering(response("404 Not Found"))
    let session = Session(configuration: Self.configuration { $0.admissionTimeout = 0.5 })
    let request = session.request("\(server.url)there?key=s3cret").validate()
    let error = try #require(await request.serializingData().response.error)
    let place = "(GET http://127.0.0.1:P, attempt 1, after T s)"
    #expect(
      Self.normal(request.failureDescription(of: error))
        == "The response is not acceptable. Its status code is 404. \(place)")
    #expect(Self.normal(request.failureDescription(of: TokenError.expired)) == "TokenError.expired \(place)")
    #expect(
      Self.normal(request.failureDescription(of: WeirError.requestRejected(reason: .admissionTimeout)))
        == "The request was not admitted. It waited longer for the destination than admissionTimeout. "
        + "admissionTimeout: 0.5 s. \(place)")
    server.stop()
    let lost = session.request(server.url)
    let failure = try #require(await lost.plainResponse().error)
    #expect(Self.normal(lost.failureDescription(of: failure)) == Self.normal(failure.localizedDescription))
    #expect(
      session.request("http://h/").failureDescription(of: TokenError.expired) == "TokenError.expired (request)")
  }

  @Test("Secrets of all places are in none of the texts")
  func secrets() async throws {
    let replies = [
      "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ns3cret", "s3cret\r\n\r\n", "",
      response("302 Found", ["Location: ftp://me:s3cret@h/?s3cret", "Set-Cookie: a=s3cret"]),
      response("200 OK", ["Content-Encoding: gzip"], body: "s3cret"), response("500 s3cret", body: "s3cret"),
      response("200 OK", ["Content-Type: text/html"], body: "s3cret"),
    ]
    for reply in replies {
      let server = try ScriptedServer(.once(reply))
      let session = Session(configuration: Self.configuration { $0.timeoutIntervalForRequest = 1 })
      let url = server.url.replacing("http://", with: "http://me:s3cret@") + "s3cret/path?key=s3cret"
      let headers: HTTPHeaders = [
        .authorization(bearerToken: "s3cret"), HTTPHeader(name: "Cookie", value: "a=s3cret"),
        HTTPHeader(name: "X-Key", value: "s3cret"),
      ]
      let request = session.request(
        url, method: .put, parameters: ["key": "s3cret"], encoder: JSONParameterEncoder.default, headers: headers
      ).validate()
      let error = try #require(await request.serializingDecodable(Order.self).response.error)
      for text in [
        error.localizedDescription, "\(error)", String(reflecting: error), request.failureDescription(of: error),
      ] {
        #expect(!text.contains("s3cret"), "\(text)")
      }
    }
    let foreign = URLError(
      .unknown, userInfo: [NSLocalizedDescriptionKey: "no luck at http://u:s3cret@h/p?key=s3cret today"])
    let text = WeirError.requestAdaptationFailed(error: foreign).localizedDescription
    #expect(text == "The request could not be adapted: no luck at http://<redacted>@h/p?… today")
    let noURL = WeirError.invalidURL(url: "http://h:bad/?f={\"token\": \"s3cret\"}#access=s3cret").localizedDescription
    #expect(noURL == #"Not a URL: "http://h:bad/?…"#)
    enum Color: String, Decodable { case red }
    do {
      _ = try JSONDecoder().decode(Color.self, from: Data(#""s3cret""#.utf8))
    } catch {
      let text = WeirError.responseSerializationFailed(reason: .decodingFailed(error: error)).localizedDescription
      #expect(!text.contains("s3cret"), "\(text)")
    }
    let value = EncodingError.invalidValue("s3cret", .init(codingPath: [], debugDescription: "s3cret"))
    #expect(
      WeirError.parameterEncodingFailed(reason: .jsonEncodingFailed(error: value)).localizedDescription
        == "The parameters could not be encoded. JSON: a value of String can't be encoded")
  }
}
