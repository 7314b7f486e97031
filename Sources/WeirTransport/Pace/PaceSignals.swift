import WeirHTTP

extension PaceSettings {
  /// The seconds for which a response asks that no request comes; nil if it does not, or in no way that is obeyed.
  ///
  /// - Parameter date: The present in seconds since 1970.
  func pause(askedBy head: ResponseHead, at date: Double) -> Double? {
    guard obey.contains(.retryAfter), head.status == 429 || head.status == 503,
      let seconds = RetryAfter.longestDelay(head.values(ofField: "Retry-After"), now: date), seconds > 0
    else { return nil }
    return min(seconds, Self.longestPause)
  }
}
