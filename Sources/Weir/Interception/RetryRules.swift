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

  /// What went wrong, and how often before.
  struct Failure {
    /// Nil: there is no URL request.
    let method: HTTPMethod?
    let status: Int?
    let error: any Error
    let retryCount: Int
  }

  /// Whether the failure is worth another attempt: a retryable status, or an error with a retryable code, as it is or
  /// as the cause of a ``WeirError``.
  func isRetryable(method: HTTPMethod, status: Int?, error: any Error) -> Bool {
    methods.contains(method) && isTransient(status: status, error: error)
  }

  /// - Parameters:
  ///   - isRetryable: What ``isRetryable(method:status:error:)`` says, or who overrides it.
  ///   - retryAfter: The response's field.
  ///   - random: In 0..<1.
  func decision(
    about failure: Failure, isRetryable: Bool, retryAfter: @autoclosure () -> String?, random: Double, now: Date
  ) -> RetryDecision {
    guard isRetryable else { return .deny(refusesMethod(failure) ? .method : .policy) }
    guard Int64(failure.retryCount) < Int64(clamping: limit) else { return .deny(.limit) }
    let delay = backoff.delay(retryCount: failure.retryCount, random: random)
    guard respectsRetryAfter, let status = failure.status, statusCodes.contains(status),
      let asked = retryAfter().flatMap({ RetryAfter.delay($0, now: now) }), asked > 0, asked >= delay
    else { return .retry(after: delay, source: .backoff) }
    return .retry(after: asked, source: .retryAfter)
  }

  /// Whether it is the method alone that keeps the failure from being retried.
  private func refusesMethod(_ failure: Failure) -> Bool {
    guard let method = failure.method, !methods.contains(method) else { return false }
    return isTransient(status: failure.status, error: failure.error)
  }

  private func isTransient(status: Int?, error: any Error) -> Bool {
    if let status, statusCodes.contains(status) { return true }
    let cause = error as? URLError ?? error.asWeirError?.underlyingError as? URLError
    return cause.map { errorCodes.contains($0.code) } ?? false
  }
}
