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
  /// Fields whose presence makes a response final.
  var finalResponseFields: [String] = []

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
  ///   - field: The value of the response's field of a name; nil where there is none.
  ///   - random: In 0..<1.
  func decision(
    about failure: Failure, isRetryable: Bool, field: (_ name: String) -> String?, random: Double, now: Date
  ) -> RetryDecision {
    guard isRetryable else { return .deny(refusesMethod(failure) ? .method : .policy) }
    if finalResponseFields.contains(where: { field($0) != nil }) { return .deny(.policy) }
    guard Int64(failure.retryCount) < Int64(clamping: limit) else { return .deny(.limit) }
    let delay = backoff.delay(retryCount: failure.retryCount, random: random)
    guard respectsRetryAfter, let status = failure.status, statusCodes.contains(status),
      let wish = field("Retry-After").flatMap({ RetryAfter.delay($0, now: now) }), wish > 0, wish >= delay
    else { return .retry(after: delay, source: .backoff) }
    let granted = min(wish, RetryAfter.maximum)
    let more = wish > max(granted, delay) ? wish : nil
    return granted >= delay
      ? .retry(after: granted, source: .retryAfter, wish: more) : .retry(after: delay, source: .backoff, wish: more)
  }

  /// Whether it is the method alone that keeps the failure from being retried.
  private func refusesMethod(_ failure: Failure) -> Bool {
    guard let method = failure.method, !methods.contains(method) else { return false }
    return isTransient(status: failure.status, error: failure.error)
  }

  private func isTransient(status: Int?, error: any Error) -> Bool {
    if let status, statusCodes.contains(status) { return true }
    let cause = error as? URLError ?? error.asWeirError?.underlyingError as? URLError
    return cause.map { errorCodes.contains($0.code) && !$0.isDestinationRefused } ?? false
  }
}
