import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite struct RetryPolicyTests {
  let session = Session()
  static let lost = WeirError.sessionTaskFailed(error: URLError(.networkConnectionLost))

  func answer(_ policy: RetryPolicy, _ request: Request, _ error: any Error = lost) -> String? {
    let answers = Interception.answer(of: policy, about: request, error: error, in: session)
    return answers.count == 1 ? answers.first?.text : nil
  }

  @Test func defaults() {
    let policy = RetryPolicy()
    #expect(policy.retryLimit == 2)
    #expect(policy.exponentialBackoffBase == 2)
    #expect(policy.exponentialBackoffScale == 0.5)
    #expect(policy.retryableHTTPMethods == [.delete, .get, .head, .options, .put, .query, .trace])
    #expect(policy.retryableHTTPStatusCodes == [408, 500, 502, 503, 504])
    #expect(policy.retryableURLErrorCodes.count == 18)
    #expect(policy.jitter == .none)
    #expect(policy.maximumDelay == 60)
    #expect(policy.respectsRetryAfter)
    #expect(policy.finalResponseFields == ["X-No-Retry", "x-envoy-ratelimited"])
  }

  @Test func recommended() throws {
    let policy = RetryPolicy.recommended()
    #expect(policy.retryLimit == 2)
    #expect(RetryPolicy.recommended(limit: 7).retryLimit == 7)
    #expect(policy.exponentialBackoffBase == 2)
    #expect(policy.exponentialBackoffScale == 0.5)
    #expect(policy.retryableHTTPMethods == RetryPolicy.defaultRetryableHTTPMethods)
    #expect(policy.retryableHTTPStatusCodes == [408, 425, 429, 500, 502, 503, 504])
    #expect(policy.retryableURLErrorCodes == RetryPolicy.defaultRetryableURLErrorCodes)
    #expect(policy.jitter == .full)
    #expect(policy.maximumDelay == 20)
    #expect(policy.respectsRetryAfter)
    #expect(policy.finalResponseFields == ["X-No-Retry", "x-envoy-ratelimited"])
    let fields = "Retry-After: 55\r\n"
    for status in [425, 429] {
      #expect(
        answer(policy, try Interception.request(in: session, status: status, fields: fields)) == "retry after 55.0")
    }
  }

  @Test(arguments: [
    ("X-No-Retry: 1\r\n", false), ("x-no-retry: false\r\n", false), ("X-NO-RETRY:\r\n", false),
    ("X-Envoy-RateLimited: true\r\n", false), ("X-No-Retry-Please: 1\r\n", true), ("X-Retry: no\r\n", true),
  ])
  func finalResponses(fields: String, isRetried: Bool) throws {
    let request = try Interception.request(in: session, status: 503, fields: fields)
    #expect(answer(RetryPolicy(), request) == (isRetried ? "retry after 0.5" : "no"))
    #expect(answer(RetryPolicy(finalResponseFields: []), request) == "retry after 0.5")
    #expect(answer(RetryPolicy(finalResponseFields: ["x-retry"]), request) != nil)
    #expect(answer(ConnectionLostRetryPolicy(), request) == (isRetried ? "retry after 0.5" : "no"))
  }

  @Test(arguments: [(0, "retry after 0.5"), (1, "retry after 1.0"), (2, "no"), (3, "no")])
  func delaysUpToTheLimit(retryCount: Int, text: String) throws {
    #expect(answer(RetryPolicy(), try Interception.request(in: session, retryCount: retryCount)) == text)
  }

  @Test func limitsOfEverySize() throws {
    let tried = try Interception.request(in: session, retryCount: 1_000_000)
    #expect(answer(RetryPolicy(retryLimit: .max), tried) == "retry after 60.0")
    #expect(answer(RetryPolicy(retryLimit: 0), try Interception.request(in: session)) == "no")
  }

  @Test(arguments: [
    (HTTPMethod.delete, true), (.get, true), (.head, true), (.options, true), (.put, true), (.trace, true),
    (.post, false), (.patch, false), (.connect, false), (.query, true),
  ])
  func methods(method: HTTPMethod, isRetried: Bool) throws {
    let request = try Interception.request(in: session, method: method)
    #expect(answer(RetryPolicy(), request) == (isRetried ? "retry after 0.5" : "no"))
  }

  @Test func withoutURLRequest() {
    let request = session.request("")
    #expect(answer(RetryPolicy(), request) == "no")
  }

  @Test(arguments: Array(100..<600))
  func statusCodes(status: Int) throws {
    let request = try Interception.request(in: session, status: status)
    let error = WeirError.responseValidationFailed(reason: .unacceptableStatusCode(code: status))
    let isRetried = [408, 500, 502, 503, 504].contains(status)
    #expect(answer(RetryPolicy(), request, error) == (isRetried ? "retry after 0.5" : "no"))
  }

  static let retryable: Set<URLError.Code> = [
    .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected, .badServerResponse, .callIsActive,
    .cannotConnectToHost, .cannotFindHost, .cannotLoadFromNetwork, .dataNotAllowed, .dnsLookupFailed,
    .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete, .internationalRoamingOff,
    .networkConnectionLost, .notConnectedToInternet, .secureConnectionFailed, .serverCertificateHasBadDate,
    .serverCertificateNotYetValid, .timedOut,
  ]

  static let refused: Set<URLError.Code> = [
    .appTransportSecurityRequiresSecureConnection, .backgroundSessionRequiresSharedContainer, .badURL,
    .cannotCloseFile, .cannotCreateFile, .cannotDecodeContentData, .cannotDecodeRawData, .cannotMoveFile,
    .cannotOpenFile, .cannotParseResponse, .cannotRemoveFile, .cannotWriteToFile, .cancelled,
    .clientCertificateRejected, .clientCertificateRequired, .dataLengthExceedsMaximum, .fileDoesNotExist,
    .fileIsDirectory, .httpTooManyRedirects, .noPermissionsToReadFile, .redirectToNonExistentLocation,
    .requestBodyStreamExhausted, .resourceUnavailable, .serverCertificateHasUnknownRoot, .serverCertificateUntrusted,
    .unknown, .unsupportedURL, .userAuthenticationRequired, .userCancelledAuthentication, .zeroByteResource,
  ]

  @Test(arguments: retryable.union(refused))
  func errorCodes(code: URLError.Code) throws {
    let request = try Interception.request(in: session)
    let text = Self.retryable.contains(code) ? "retry after 0.5" : "no"
    #expect(answer(RetryPolicy(), request, URLError(code)) == text)
    #expect(answer(RetryPolicy(), request, WeirError.sessionTaskFailed(error: URLError(code))) == text)
  }

  @Test(
    arguments: [
      WeirError.explicitlyCancelled, .sessionTaskFailed(error: SampleError()),
      .responseSerializationFailed(reason: .inputDataNilOrZeroLength),
    ] as [any Error] + [SampleError()])
  func otherErrors(error: any Error) throws {
    #expect(answer(RetryPolicy(), try Interception.request(in: session), error) == "no")
  }

  @Test(arguments: [
    (503, "Retry-After: 5\r\n", "retry after 5.0"), (503, "Retry-After: 600\r\n", "retry after 60.0"),
    (503, "Retry-After: 0\r\n", "retry after 0.5"), (503, "Retry-After: soon\r\n", "retry after 0.5"),
    (503, "", "retry after 0.5"), (503, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "retry after 0.5"),
    (503, "Retry-After: Sun, 06 Nov 2094 08:49:37 GMT\r\n", "retry after 60.0"),
    (200, "Retry-After: 5\r\n", "retry after 0.5"),
    (503, "Retry-After: 7\r\nX: 1\r\nretry-after: 9\r\n", "retry after 9.0"),
    (503, "Retry-After: Sun, 06 Nov 2094 08:49:37 GMT\r\nRetry-After: 9\r\n", "retry after 60.0"),
    (503, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: 9\r\n", "retry after 9.0"),
    (503, "Retry-After: 7, 9\r\n", "retry after 0.5"),
  ])
  func retryAfter(status: Int, fields: String, text: String) throws {
    let request = try Interception.request(in: session, status: status, fields: fields)
    #expect(answer(RetryPolicy(), request) == text)
    #expect(answer(RetryPolicy(respectsRetryAfter: false), request) == "retry after 0.5")
  }

  @Test func aSubclassDecidesWhatIsRetried() throws {
    final class Always: RetryPolicy, @unchecked Sendable {
      override func shouldRetry(request: Request, dueTo error: any Error) -> Bool { true }
    }
    let request = try Interception.request(in: session, method: .post)
    #expect(answer(Always(), request, SampleError()) == "retry after 0.5")
  }

  @Test func connectionLost() throws {
    let policy = ConnectionLostRetryPolicy()
    #expect(policy.retryLimit == 2)
    #expect(policy.retryableHTTPMethods == RetryPolicy.defaultRetryableHTTPMethods)
    #expect(policy.retryableHTTPStatusCodes.isEmpty)
    #expect(policy.retryableURLErrorCodes == [.networkConnectionLost])
    #expect(answer(policy, try Interception.request(in: session)) == "retry after 0.5")
    #expect(answer(policy, try Interception.request(in: session), URLError(.timedOut)) == "no")
    #expect(answer(policy, try Interception.request(in: session, status: 503), SampleError()) == "no")
  }

  @Test func aBaseBelowTwoTraps() async {
    await #expect(processExitsWith: .failure) { _ = RetryPolicy(exponentialBackoffBase: 1) }
  }

  @Test func makers() {
    let policies: [any RequestInterceptor] = [
      .retryPolicy, .retryPolicy(retryLimit: 5), .connectionLostRetryPolicy, .connectionLostRetryPolicy(retryLimit: 5),
    ]
    #expect(policies.map { ($0 as? RetryPolicy)?.retryLimit } == [2, 5, 2, 5])
    #expect(policies.map { $0 is ConnectionLostRetryPolicy } == [false, false, true, true])
  }
}
