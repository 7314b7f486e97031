import WeirHTTP

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
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    if parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isDigit) }) {
      // More digits than an integer holds are still a number of seconds: a long one.
      return Double(text) ?? .greatestFiniteMagnitude
    }
    guard let time = HTTPDate.parse(text, now: Int(now)) else { return nil }
    return max(0, Double(time) - now)
  }
}
