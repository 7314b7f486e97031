extension RetryPolicy {
  /// At most two retries: three attempts in all.
  public static let defaultRetryLimit: UInt = 2
  /// The factor by which each delay is longer than the one before.
  public static let defaultExponentialBackoffBase: UInt = 2
  /// The scale of the delays, in seconds.
  public static let defaultExponentialBackoffScale: Double = 0.5

  /// The idempotent methods (RFC 9110 section 9.2.2).
  public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = HTTPMethod.idempotent

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
