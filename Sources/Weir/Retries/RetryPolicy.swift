import WeirHTTP

/// Retries failures that are likely to pass, with an exponential delay.
///
/// A request is retried if it has retries left, its method is idempotent (RFC 9110 section 9.2.2), and its status or
/// its error is one of the retryable ones. Only requests that `validate()` are retried for a status code.
// Sendable: all stored properties are constant and Sendable; a subclass has to ensure the same for its own.
open class RetryPolicy: RequestInterceptor, NamedInterceptor, RetryOnlyInterceptor, @unchecked Sendable {
  /// The limit of retries per request, the first attempt not counted; default 2.
  public let retryLimit: UInt
  /// The factor by which each delay is longer than the one before; default 2.
  public let exponentialBackoffBase: UInt
  /// The scale of the delays in seconds; default 0.5.
  public let exponentialBackoffScale: Double
  /// The methods that are retried; default: the idempotent ones.
  public let retryableHTTPMethods: Set<HTTPMethod>
  /// The status codes that are retried if the response failed validation; default 408, 500, 502, 503, 504.
  public let retryableHTTPStatusCodes: Set<Int>
  /// The codes of failed transfers that are retried; default ``defaultRetryableURLErrorCodes``.
  public let retryableURLErrorCodes: Set<URLError.Code>
  /// The random spread of delays; default: none.
  public let jitter: Jitter
  /// The longest delay of the backoff in seconds; default 60.
  public let maximumDelay: TimeInterval
  /// Whether a `Retry-After` on a retryable status raises the delay, up to 60 s. Of several fields the longest
  /// counts. If that delay would end after the request's deadline, the response is final (``RetryDenial/Reason/deadline``).
  public let respectsRetryAfter: Bool
  /// The fields that make a response final, whatever their value (``RetryDenial/Reason/policy``); default
  /// ``defaultFinalResponseFields``.
  public let finalResponseFields: [String]
  /// The policy's name in metrics; nil means the name of its type.
  public let name: String?
  private let rules: RetryRules

  /// Makes a retry policy.
  ///
  /// - `exponentialBackoffBase`: At least 2; a lower base is a programming error and traps.
  /// - `exponentialBackoffScale`: In seconds. The delay is base^retryCount × scale: 0.5 s and 1 s by default.
  public init(
    retryLimit: UInt = RetryPolicy.defaultRetryLimit,
    exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
    exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
    retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
    retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
    retryableURLErrorCodes: Set<URLError.Code> = RetryPolicy.defaultRetryableURLErrorCodes,
    jitter: Jitter = .none, maximumDelay: TimeInterval = 60, respectsRetryAfter: Bool = true,
    finalResponseFields: [String] = RetryPolicy.defaultFinalResponseFields, name: String? = nil
  ) {
    precondition(exponentialBackoffBase >= 2, "A backoff needs a base of at least 2; \(exponentialBackoffBase) given.")
    self.retryLimit = retryLimit
    self.exponentialBackoffBase = exponentialBackoffBase
    self.exponentialBackoffScale = exponentialBackoffScale
    self.retryableHTTPMethods = retryableHTTPMethods
    self.retryableHTTPStatusCodes = retryableHTTPStatusCodes
    self.retryableURLErrorCodes = retryableURLErrorCodes
    self.jitter = jitter
    self.maximumDelay = maximumDelay
    self.respectsRetryAfter = respectsRetryAfter
    self.finalResponseFields = finalResponseFields
    self.name = name
    rules = RetryRules(
      limit: retryLimit, methods: Set(retryableHTTPMethods.map(\.rawValue)), statusCodes: retryableHTTPStatusCodes,
      codes: Set(retryableURLErrorCodes.compactMap { FailureCode(rawValue: $0.rawValue) }),
      backoff: RetryBackoff(
        base: exponentialBackoffBase, scale: exponentialBackoffScale, jitter: jitter, maximumDelay: maximumDelay),
      respectsRetryAfter: respectsRetryAfter, finalResponseFields: finalResponseFields)
  }

  @preconcurrency
  open func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    let decision = decision(about: request, dueTo: error)
    request.note(decision)
    completion(decision.result)
  }

  private func decision(about request: Request, dueTo error: any Error) -> RetryDecision {
    let response = request.lazyResponse
    return rules.decision(
      about: RetryRules.Failure(request, error), isRetryable: shouldRetry(request: request, dueTo: error),
      retryCount: request.retryCount, values: { response?.values(ofHeader: $0) ?? [] },
      random: .random(in: 0..<1), now: Date().timeIntervalSince1970)
  }

  /// Whether this policy retries the failure, apart from the retry limit. Called once for each failure.
  open func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
    rules.isRetryable(RetryRules.Failure(request, error))
  }

  // MARK: Defaults

  /// At most two retries: three attempts in all.
  public static let defaultRetryLimit: UInt = 2
  /// The factor by which each delay is longer than the one before.
  public static let defaultExponentialBackoffBase: UInt = 2
  /// The scale of the delays, in seconds.
  public static let defaultExponentialBackoffScale: Double = 0.5

  /// The idempotent methods (RFC 9110 section 9.2.2).
  public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = Set(RequestMethods.idempotent.map(HTTPMethod.init))

  /// Timeout, server error, bad gateway, unavailable, gateway timeout.
  public static let defaultRetryableHTTPStatusCodes: Set<Int> = [408, 500, 502, 503, 504]

  /// Header fields by which a server, or a proxy in front of it, says that another attempt is useless: `X-No-Retry`,
  /// and the field that Envoy sets on responses of its rate limiter.
  public static let defaultFinalResponseFields = ["X-No-Retry", "x-envoy-ratelimited"]

  /// The codes of failures of the network, or of a server for a moment. A failure that the same request would meet
  /// again is not among them.
  public static let defaultRetryableURLErrorCodes = Set(
    RetryRules.transientCodes.compactMap { URLError.Code(rawValue: $0.rawValue) })
}

extension RetryRules.Failure {
  /// Takes the transfer's code from the error itself or from the cause of a ``WeirError``.
  fileprivate init(_ request: Request, _ error: any Error) {
    let cause = error as? URLError ?? error.asWeirError?.underlyingError as? URLError
    self.init(
      method: request.presentRequest?.method?.rawValue, status: request.lazyResponse?.statusCode,
      code: cause?.failureCode, isDestinationRefused: cause?.isDestinationRefused ?? false,
      isElsewhere: request.hasLeftEndpointOut)
  }
}

extension RequestInterceptor where Self == RetryPolicy {
  /// A retry policy with all defaults.
  public static var retryPolicy: RetryPolicy { RetryPolicy() }

  /// A retry policy; see ``RetryPolicy/init(retryLimit:exponentialBackoffBase:exponentialBackoffScale:retryableHTTPMethods:retryableHTTPStatusCodes:retryableURLErrorCodes:jitter:maximumDelay:respectsRetryAfter:finalResponseFields:name:)``.
  public static func retryPolicy(
    retryLimit: UInt = RetryPolicy.defaultRetryLimit,
    exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
    exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
    retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
    retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
    retryableURLErrorCodes: Set<URLError.Code> = RetryPolicy.defaultRetryableURLErrorCodes,
    jitter: Jitter = .none, maximumDelay: TimeInterval = 60, respectsRetryAfter: Bool = true,
    finalResponseFields: [String] = RetryPolicy.defaultFinalResponseFields
  ) -> RetryPolicy {
    RetryPolicy(
      retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
      exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
      retryableHTTPStatusCodes: retryableHTTPStatusCodes, retryableURLErrorCodes: retryableURLErrorCodes,
      jitter: jitter, maximumDelay: maximumDelay, respectsRetryAfter: respectsRetryAfter,
      finalResponseFields: finalResponseFields)
  }

  /// The policy for new code.
  /// ``RetryPolicy/init(retryLimit:exponentialBackoffBase:exponentialBackoffScale:retryableHTTPMethods:retryableHTTPStatusCodes:retryableURLErrorCodes:jitter:maximumDelay:respectsRetryAfter:finalResponseFields:name:)``
  /// has Alamofire's delays, with which clients that failed together retry together.
  ///
  /// The first retry follows at a random time within 0.5 s, each later one within twice the time of the one before, up
  /// to 20 s. A `Retry-After` is followed up to 60 s. Besides the default statuses, 425 (RFC 8470) and 429 (RFC 6585)
  /// are retried.
  ///
  /// - Parameter limit: The limit of retries per request, the first attempt not counted.
  public static func recommended(limit: UInt = RetryPolicy.defaultRetryLimit) -> RetryPolicy {
    RetryPolicy(
      retryLimit: limit,
      retryableHTTPStatusCodes: RetryPolicy.defaultRetryableHTTPStatusCodes.union([425, 429]),
      jitter: .full, maximumDelay: 20)
  }
}

/// Retries idempotent requests whose connection was lost, and nothing else.
// Sendable: the class adds no stored properties.
open class ConnectionLostRetryPolicy: RetryPolicy, @unchecked Sendable {
  /// Makes a policy with limits and methods, by the rules of ``RetryPolicy``. It retries no status codes.
  public init(
    retryLimit: UInt = RetryPolicy.defaultRetryLimit,
    exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
    exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
    retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
    jitter: Jitter = .none, maximumDelay: TimeInterval = 60, respectsRetryAfter: Bool = true, name: String? = nil
  ) {
    super.init(
      retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
      exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
      retryableHTTPStatusCodes: [], retryableURLErrorCodes: [.networkConnectionLost], jitter: jitter,
      maximumDelay: maximumDelay, respectsRetryAfter: respectsRetryAfter, name: name)
  }
}

extension RequestInterceptor where Self == ConnectionLostRetryPolicy {
  /// A policy that retries lost connections, with all defaults.
  public static var connectionLostRetryPolicy: ConnectionLostRetryPolicy { ConnectionLostRetryPolicy() }

  /// A policy that retries lost connections.
  public static func connectionLostRetryPolicy(
    retryLimit: UInt = RetryPolicy.defaultRetryLimit,
    exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
    exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
    retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
  ) -> ConnectionLostRetryPolicy {
    ConnectionLostRetryPolicy(
      retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
      exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods)
  }
}
