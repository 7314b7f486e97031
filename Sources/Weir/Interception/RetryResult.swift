/// A retrier's answer.
public enum RetryResult: Sendable {
  /// Retry at once.
  case retry
  /// Retry after that many seconds; zero and less mean at once.
  case retryWithDelay(TimeInterval)
  /// Let the error stand; the next retrier is asked.
  case doNotRetry
  /// Let the request fail with ``WeirError/requestRetryFailed(retryError:originalError:)``.
  case doNotRetryWithError(any Error)
}

extension RetryResult {
  /// Whether the answer asks for a retry.
  public var retryRequired: Bool {
    switch self {
    case .retry, .retryWithDelay: true
    case .doNotRetry, .doNotRetryWithError: false
    }
  }

  /// The delay asked for, in seconds.
  public var delay: TimeInterval? {
    guard case .retryWithDelay(let delay) = self else { return nil }
    return delay
  }

  /// The retrier's own error.
  public var error: (any Error)? {
    guard case .doNotRetryWithError(let error) = self else { return nil }
    return error
  }
}
