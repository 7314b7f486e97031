extension RetryPolicy {
  /// Two retries: three attempts in all.
  public static let defaultRetryLimit: UInt = 2
  /// Each delay is twice the one before.
  public static let defaultExponentialBackoffBase: UInt = 2
  /// Seconds.
  public static let defaultExponentialBackoffScale: Double = 0.5

  /// The idempotent methods (RFC 9110 section 9.2.2).
  public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = HTTPMethod.idempotent

  /// Timeout, server error, bad gateway, unavailable, gateway timeout.
  public static let defaultRetryableHTTPStatusCodes: Set<Int> = [408, 500, 502, 503, 504]

  /// Fields by which a server, or a proxy in front of it, says that another attempt is of no use: `X-No-Retry`, and
  /// Envoy's mark of a response that its rate limiter made.
  public static let defaultFinalResponseFields = ["X-No-Retry", "x-envoy-ratelimited"]

  /// Failures of the network or of a server's moment; nothing that the same request would meet again.
  public static let defaultRetryableURLErrorCodes = Set(
    RetryRules.transientCodes.compactMap { URLError.Code(rawValue: $0.rawValue) })
}
