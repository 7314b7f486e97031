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
