import Foundation
import FoundationNetworking

/// The decision of a retry policy, without a request, a clock or randomness.
struct RetryRules: Sendable, Hashable {
  let limit: UInt
  let methods: Set<HTTPMethod>
  let statusCodes: Set<Int>
  let errorCodes: Set<URLError.Code>
  let backoff: RetryBackoff
  let respectsRetryAfter: Bool

  /// Whether a request that was retried so often may be retried again.
  func allowsRetry(after retryCount: Int) -> Bool {
    Int64(retryCount) < Int64(clamping: limit)
  }

  /// Whether the failure is worth another attempt: a retryable status, or an error with a retryable code, as it is or
  /// as the cause of a ``WeirError``.
  func isRetryable(method: HTTPMethod, status: Int?, error: any Error) -> Bool {
    methods.contains(method) && isTransient(status: status, error: error)
  }

  /// Whether it is the method alone that keeps the failure from being retried.
  func refusesMethod(_ method: HTTPMethod, status: Int?, error: any Error) -> Bool {
    !methods.contains(method) && isTransient(status: status, error: error)
  }

  private func isTransient(status: Int?, error: any Error) -> Bool {
    if let status, statusCodes.contains(status) { return true }
    let cause = error as? URLError ?? error.asWeirError?.underlyingError as? URLError
    return cause.map { errorCodes.contains($0.code) } ?? false
  }

  /// The delay before the next attempt, in seconds; `random` is in 0..<1.
  func delay(
    retryCount: Int, status: Int?, retryAfter: @autoclosure () -> String?, random: Double, now: Date
  ) -> TimeInterval {
    let delay = backoff.delay(retryCount: retryCount, random: random)
    guard respectsRetryAfter, let status, statusCodes.contains(status) else { return delay }
    return RetryAfter.raise(delay, to: retryAfter(), now: now)
  }
}
