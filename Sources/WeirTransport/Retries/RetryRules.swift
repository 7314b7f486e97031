import Glibc
import WeirHTTP

/// The decision of a retry policy, without a request, a clock or randomness.
package struct RetryRules: Sendable, Hashable {
  let limit: UInt
  let methods: Set<String>
  package let statusCodes: Set<Int>
  let codes: Set<FailureCode>
  let backoff: RetryBackoff
  let respectsRetryAfter: Bool
  /// Fields whose presence makes a response final.
  let finalResponseFields: [String]
  /// The causes of failures that are retried.
  let causes: Set<RetryCause>

  package init(
    limit: UInt, methods: Set<String>, statusCodes: Set<Int>, codes: Set<FailureCode>, backoff: RetryBackoff,
    respectsRetryAfter: Bool = true, finalResponseFields: [String] = [], causes: Set<RetryCause> = RetryCause.all
  ) {
    self.limit = limit
    self.methods = methods
    self.statusCodes = statusCodes
    self.codes = codes
    self.backoff = backoff
    self.respectsRetryAfter = respectsRetryAfter
    self.finalResponseFields = finalResponseFields
    self.causes = causes
  }

  /// The facts about a failed attempt on which the decision depends.
  package struct Failure {
    /// Nil if there is no URL request.
    let method: String?
    let status: Int?
    /// Nil if no transfer failed.
    let code: FailureCode?
    /// Nil if it is not known.
    let cause: RetryCause?
    /// Whether the request may be sent again whatever its method, as the server knows it by a key.
    let isKeyed: Bool
    /// Whether the endpoint that failed is left out, and another one serves: its `Retry-After` need not be waited for.
    let isElsewhere: Bool

    /// - Parameter isDestinationRefused: Whether the destination policy refused to connect, which no rule retries.
    package init(
      method: String?, status: Int?, code: FailureCode? = nil, isDestinationRefused: Bool = false,
      cause: RetryCause? = nil, isKeyed: Bool = false, isElsewhere: Bool = false
    ) {
      self.method = method
      self.status = status
      self.code = isDestinationRefused ? nil : code
      self.cause = cause
      self.isKeyed = isKeyed
      self.isElsewhere = isElsewhere
    }
  }

  /// Failures of the network, and temporary ones of a server, which the same request need not meet again.
  package static let transientCodes: Set<FailureCode> = [
    .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected, .badServerResponse, .callIsActive,
    .cannotConnectToHost, .cannotFindHost, .cannotLoadFromNetwork, .dataNotAllowed, .dnsLookupFailed,
    .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete, .internationalRoamingOff,
    .networkConnectionLost, .notConnectedToInternet, .secureConnectionFailed, .serverCertificateHasBadDate,
    .serverCertificateNotYetValid, .timedOut,
  ]

  /// Whether the failure is worth another attempt: a retryable status, or an error with a retryable code.
  package func isRetryable(_ failure: Failure) -> Bool {
    (failure.isKeyed || failure.method.map(methods.contains) ?? false) && isTransient(failure)
  }

  /// - Parameters:
  ///   - isRetryable: The answer of ``isRetryable(_:)``, or of an override of it.
  ///   - retryCount: The number of retries before.
  ///   - values: The values of the response's fields of a name, one for each field.
  ///   - random: In 0..<1.
  ///   - now: The date in seconds since 1970.
  package func decision(
    about failure: Failure, isRetryable: Bool, retryCount: Int, values: (_ name: String) -> [String],
    random: Double, now: Double
  ) -> RetryDecision {
    guard isRetryable else { return .deny(refusesMethod(failure) ? .method : .policy) }
    if finalResponseFields.contains(where: { !values($0).isEmpty }) { return .deny(.policy) }
    guard Int64(retryCount) < Int64(clamping: limit) else { return .deny(.limit) }
    let delay = backoff.delay(retryCount: retryCount, random: random)
    guard respectsRetryAfter, !failure.isElsewhere, let status = failure.status, statusCodes.contains(status),
      let wish = RetryAfter.longestDelay(values("Retry-After"), now: now), wish > 0, wish >= delay
    else { return .retry(after: delay, source: .backoff) }
    let granted = min(wish, RetryAfter.maximum)
    let more = wish > max(granted, delay) ? wish : nil
    return granted >= delay
      ? .retry(after: granted, source: .retryAfter, wish: more) : .retry(after: delay, source: .backoff, wish: more)
  }

  /// Whether only the method keeps the failure from being retried.
  private func refusesMethod(_ failure: Failure) -> Bool {
    guard let method = failure.method, !methods.contains(method) else { return false }
    return isTransient(failure)
  }

  private func isTransient(_ failure: Failure) -> Bool {
    if let cause = failure.cause, !causes.contains(cause) { return false }
    return failure.status.map(statusCodes.contains) ?? false || failure.code.map(codes.contains) ?? false
  }
}

/// Why an attempt failed, in the words of a route's `retry.causes`.
package enum RetryCause: String, CaseIterable, Sendable {
  /// No connection: the lookup, TCP, a tunnel, or the TLS handshake failed, and nothing was sent.
  case connect
  /// The connection broke before the head, or the head was bad.
  case lost
  /// The attempt's time or the silence was over.
  case timeout
  /// The status of the response.
  case status

  package static let all = Set(RetryCause.allCases)

  /// - Parameter wasSent: Whether anything of the attempt was sent.
  package init(_ failure: TransferFailure?, wasSent: Bool) {
    self =
      switch failure {
      case nil: .status
      case let failure? where failure.isTimeLimit: .timeout
      default: wasSent ? .lost : .connect
      }
  }
}

/// The `Retry-After` field (RFC 9110 section 10.2.3).
package enum RetryAfter {
  /// The longest wait that a server is granted, in seconds.
  package static let maximum: Double = 60

  /// The longest wait that several fields ask for; nil when none of them is valid.
  package static func longestDelay(_ values: [String], now: Double) -> Double? {
    values.compactMap { delay($0, now: now) }.max()
  }

  /// The wait that a value asks for, in seconds from 0 on, however long; nil when it is neither seconds nor a date.
  /// Seconds may have a fraction (`1.5`), which some servers send: without that wait they would be asked again at once.
  ///
  /// - Parameter now: The date in seconds since 1970.
  package static func delay(_ value: String, now: Double) -> Double? {
    let text = String(FieldSyntax.trimmed(Substring(value)))
    if let seconds = seconds(text) { return seconds }
    guard let time = HTTPDate.parse(text, now: Int(now)) else { return nil }
    return max(0, Double(time) - now)
  }

  /// A number of seconds in digits, with or without a fraction; nil for any other text.
  static func seconds(_ text: String) -> Double? {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isDigit) }) else { return nil }
    // More digits than an integer holds are still a number of seconds: a long one.
    return Double(text) ?? .greatestFiniteMagnitude
  }
}

/// The delay before a retry: exponential, spread by jitter, bounded.
package struct RetryBackoff: Sendable, Hashable {
  package var base: UInt
  /// Seconds.
  package var scale: Double
  package var jitter: Jitter
  /// Seconds; no delay of the backoff is longer.
  package var maximumDelay: Double

  package init(base: UInt, scale: Double, jitter: Jitter = .none, maximumDelay: Double = 60) {
    self.base = base
    self.scale = scale
    self.jitter = jitter
    self.maximumDelay = maximumDelay
  }

  /// The delay after this many retries, in seconds; `random` is in 0..<1.
  package func delay(retryCount: Int, random: Double) -> Double {
    switch jitter {
    case .none: exponential(retryCount)
    // Bounded again: without a maximum, the delay can be infinity times 0, which is NaN.
    case .full: bounded(exponential(retryCount) * random)
    case .decorrelated: decorrelated(retryCount, random: random)
    }
  }

  private func exponential(_ retryCount: Int) -> Double {
    bounded(pow(Double(base), Double(retryCount)) * scale)
  }

  private func decorrelated(_ retryCount: Int, random: Double) -> Double {
    let low = exponential(0)
    let high = max(low, 3 * exponential(max(0, retryCount - 1)))
    return bounded(low + (high - low) * random)
  }

  /// Bounds the delay, also if the scale is 0 or negative, or the product is infinite or NaN.
  private func bounded(_ delay: Double) -> Double {
    delay.isNaN ? 0 : min(max(0, delay), max(0, maximumDelay))
  }
}

/// How a backoff is spread, so that clients that failed together do not come back together.
public enum Jitter: Sendable, Hashable {
  /// The exponential delay, unchanged.
  case none
  /// A random delay between 0 and the exponential delay.
  case full
  /// A random delay between the first delay and three times the previous delay.
  ///
  /// The policy keeps no state per request, so the previous delay is the exponential one, not the random one.
  case decorrelated
}
